#!/usr/bin/env python3
"""Trajectories of k-diffusion 0.1.1 in f64 on a mixture of two Gaussians, with given noise; writes k_diffusion_mixture.json.

    python make_mixture.py            # torch, k-diffusion

The denoiser is the exact posterior mean for data that is N(-1, 0.25) with weight 0.3 and N(1.5, 0.25) with weight 0.7, each value for
itself. Draw k of a run is row k of `noise`; a run starts at noise row 0 times the first sigma and takes its draws from row 1 on.
restart, lcm and ddpm, which k-diffusion does not have, are the definitions written down here, ddpm in its variance-preserving form.
"""

import importlib.metadata
import json
import math
import sys
import types

import torch

sys.modules["clip"] = types.ModuleType("clip")  # imported for metrics that are not used here
import k_diffusion.sampling as k  # noqa: E402

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
WEIGHTS, MEANS, VARIANCE = (0.3, 0.7), (-1.0, 1.5), 0.25


def denoise(x, sigma):
    v = VARIANCE + sigma.view(-1, 1, 1, 1)[:1] ** 2
    logits = torch.stack([math.log(w) - (x - m) ** 2 / (2 * v) for w, m in zip(WEIGHTS, MEANS)])
    means = torch.stack([m + VARIANCE / v * (x - m) for m in MEANS])
    return (torch.softmax(logits, 0) * means).sum(0)


def lcm(x, sigmas, draws):
    for a, b in zip(sigmas[:-1], sigmas[1:]):
        x = denoise(x, a.view(1))
        if b > 0:
            x = x + b * next(draws)
    return x


def ddpm(x, sigmas, draws):
    for a, b in zip(sigmas[:-1], sigmas[1:]):
        eps = (x - denoise(x, a.view(1))) / a
        bar, bar_next = 1 / (a**2 + 1), 1 / (b**2 + 1)
        alpha = bar / bar_next
        x = (x * bar.sqrt() - (1 - alpha) * eps / (1 - bar).sqrt()) / alpha.sqrt()
        if b > 0:
            x = (x + ((1 - alpha) * (1 - bar_next) / (1 - bar)).sqrt() * next(draws)) / bar_next.sqrt()
    return x


def restart(x, sigmas, draws):
    n = len(sigmas) - 1
    steps, times = (n // 4, 2) if n >= 36 else (9, 1) if n >= 20 else (0, 0)
    if times:
        sigmas = k.get_sigmas_karras(n - steps * times, sigmas[-2].item(), sigmas[0].item())
    pairs, low = [], int((sigmas - 0.1).abs().argmin())
    for i in range(len(sigmas) - 1):
        pairs.append((sigmas[i], sigmas[i + 1]))
        high = int((sigmas - 2).abs().argmin())
        if times and i + 1 == low and high < low:
            again = k.get_sigmas_karras(steps + 1, sigmas[low].item(), sigmas[high].item())[:-1]
            for _ in range(times):
                pairs += list(zip(again[:-1], again[1:]))
    last = None
    for a, b in pairs:
        if last is not None and last < a:
            x = x + next(draws) * (a**2 - last**2) ** 0.5
        x = k.sample_heun(denoise, x, torch.stack([a, b]), disable=True)
        last = b
    return x


def main():
    generator = torch.Generator().manual_seed(5)
    noise = torch.randn((60, 1, 1, 1, 4), generator=generator)
    cases = []

    def add(name, function, n, options, **kwargs):
        draws = iter(noise[1:])
        sampler = lambda *a: next(draws)  # noqa: E731
        k.torch.randn_like = lambda x: next(draws)
        sigmas = k.get_sigmas_karras(n, 0.0291671582, 14.6146412293)
        x = noise[0] * sigmas[0]
        if name in ("dpm_fast", "dpm_adaptive"):
            args = (sigmas[-2], sigmas[0]) + ((n,) if name == "dpm_fast" else ())
            out = function(denoise, x, *args, disable=True, noise_sampler=sampler, **kwargs)
        elif name in ("euler", "heun", "dpm_2", "lms", "dpmpp_2m"):
            out = function(denoise, x, sigmas, disable=True, **kwargs)
        else:
            out = function(denoise, x, sigmas, disable=True, noise_sampler=sampler, **kwargs)
        cases.append({"sampler": name, "n": n, "options": options, "x": out.flatten().tolist()})

    real_randn_like = torch.randn_like
    for n in (1, 2, 5, 12):
        for name in ("euler", "heun", "dpm_2"):
            f = getattr(k, "sample_" + name)
            for options in ({"s_churn": 4.0, "s_tmin": 0.05, "s_tmax": 10.0, "s_noise": 1.003}, {"s_churn": 40.0}):
                # k-diffusion draws at every step; those with gamma 0 have no effect. Left out by drawing zeros of no account:
                sigmas = k.get_sigmas_karras(n, 0.0291671582, 14.6146412293)
                lifted = [options.get("s_tmin", 0) <= float(s) <= options.get("s_tmax", math.inf) for s in sigmas[:-1]]
                flags, draws = iter(lifted), iter(noise[1:])
                k.torch.randn_like = lambda x: next(draws) if next(flags) else torch.zeros_like(x)
                out = f(denoise, noise[0] * sigmas[0], sigmas, disable=True, **options)
                cases.append({"sampler": name, "n": n, "options": options, "x": out.flatten().tolist()})
            add(name, f, n, {})
        for name in ("euler_ancestral", "dpm_2_ancestral", "dpmpp_2s_ancestral", "dpmpp_sde", "dpmpp_2m_sde", "dpmpp_3m_sde"):
            for eta, s_noise in ((1.0, 1.0), (0.6, 1.1), (0.0, 1.0)):
                options = {"eta": eta, "s_noise": s_noise}
                f = getattr(k, "sample_" + name)
                if n == 1 and name in ("dpmpp_2m_sde", "dpmpp_3m_sde"):
                    continue  # an unset variable in the reference
                if name == "dpmpp_2m_sde":
                    add(name, f, n, options, solver_type="midpoint", **options)
                    add("dpmpp_2m_sde_heun", f, n, options, solver_type="heun", **options)
                    continue
                add(name, f, n, options, **options)
        add("dpmpp_sde", k.sample_dpmpp_sde, n, {"eta": 0.8, "r": 0.3}, eta=0.8, r=0.3)
        add("dpmpp_2m", k.sample_dpmpp_2m, n, {})
        for order in (1, 2, 4):
            add("lms", k.sample_lms, n, {"order": order}, order=order)
        if n > 1:
            for eta in (0.0, 0.7):
                add("dpm_fast", k.sample_dpm_fast, n, {"eta": eta}, eta=eta)
    for eta in (0.0, 0.5):
        for order in (2, 3):
            for extra in ({}, {"rtol": 0.01, "atol": 0.002}, {"pcoeff": 0.2, "icoeff": 0.7, "dcoeff": 0.1, "accept_safety": 0.9, "h_init": 0.2}):
                add("dpm_adaptive", k.sample_dpm_adaptive, 10, {"order": order, "eta": eta, **extra}, order=order, eta=eta, **extra)
    k.torch.randn_like = real_randn_like
    for n in (1, 2, 5, 12, 22, 40):
        sigmas = k.get_sigmas_karras(n, 0.0291671582, 14.6146412293)
        for f in (lcm, ddpm, restart):
            x = f(noise[0] * sigmas[0], sigmas, iter(noise[1:]))
            cases.append({"sampler": f.__name__, "n": n, "options": {}, "x": x.flatten().tolist()})
    versions = {"torch": torch.__version__, "k-diffusion": importlib.metadata.version("k-diffusion")}
    with open("k_diffusion_mixture.json", "w") as out:
        json.dump({"versions": versions, "noise": noise.view(60, 4).tolist(), "cases": cases}, out)
    print(len(cases), "cases")


if __name__ == "__main__":
    main()
