#!/usr/bin/env python3
"""Trajectories of ComfyUI's samplers in f64 on a mixture of two Gaussians, with given noise; writes comfy_mixture.json.

    OMP_NUM_THREADS=1 python make_comfy.py COMFYUI        # torch, torchsde, scipy, tqdm, Pillow, torchvision

COMFYUI is a checkout (November 2025: 9d8a8179); of it comfy/k_diffusion and comfy/extra_samplers/uni_pc.py run, with nothing of the rest
behind them. dpmpp_2s_ancestral_cfg_pp alone is written down here, as ComfyUI has it since 2026. The denoiser is the exact posterior mean for data that is N(-1, 0.25) with weight 0.3 and N(1.5, 0.25) with weight 0.7, each
value for itself; without prompt the second mean is 1.1. Each sampler runs along exploding sigmas (Karras) and along those of a flow
(shift 3). Draw k of a run is row k of `noise`; a run starts at row 0 times the first sigma and takes its draws from row 1 on.
"""

import importlib
import inspect
import json
import math
import sys
import types

import torch

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
LOW, HIGH, SHIFT = 0.0291671582, 14.6146412293, 3.0


class CONST:
    family = "flow"

    def percent_to_sigma(self, percent):
        t = 1 - percent
        return SHIFT * t / (1 + (SHIFT - 1) * t)

    def noise_scaling(self, sigma, noise, latent):
        return sigma * noise + (1 - sigma) * latent


class EPS:
    family = "exploding"

    def percent_to_sigma(self, percent):
        return math.exp(math.log(LOW) + (1 - percent) * (math.log(HIGH) - math.log(LOW)))

    def noise_scaling(self, sigma, noise, latent):
        return sigma * noise + latent


def load(root):
    sys.path.insert(0, root)
    for name, content in (("comfy", {}), ("comfy.model_sampling", {"CONST": CONST}), ("comfy.model_patcher", {})):
        module = types.ModuleType(name)
        module.__path__ = [root + "/comfy"]
        vars(module).update(content)
        sys.modules[name] = module
    comfy = sys.modules["comfy"]
    comfy.model_sampling, comfy.model_patcher = sys.modules["comfy.model_sampling"], sys.modules["comfy.model_patcher"]
    comfy.model_patcher.set_model_options_post_cfg_function = lambda options, function, **_: dict(options, tell=function)
    return importlib.import_module("comfy.k_diffusion.sampling"), importlib.import_module("comfy.extra_samplers.uni_pc")


class Model:
    def __init__(self, sampling):
        self.model_sampling = sampling
        self.inner_model = types.SimpleNamespace(
            inner_model=types.SimpleNamespace(model_sampling=sampling), model_patcher=types.SimpleNamespace(get_model_object=lambda _: sampling)
        )

    def estimate(self, x, sigma, second):
        sigma = sigma.reshape(-1)[0]
        a = 1 - sigma if isinstance(self.model_sampling, CONST) else torch.ones(())
        variance = 0.25 * a**2 + sigma**2
        means, weights = (-1.0, second), (0.3, 0.7)
        logits = torch.stack([math.log(w) - (x - a * m) ** 2 / (2 * variance) for w, m in zip(weights, means)])
        parts = torch.stack([m + 0.25 * a / variance * (x - a * m) for m in means])
        return (torch.softmax(logits, 0) * parts).sum(0)

    def __call__(self, x, sigma, model_options=None, **_):
        guided = self.estimate(x, sigma, 1.5)
        if model_options:
            model_options["tell"]({"denoised": guided, "uncond_denoised": self.estimate(x, sigma, 1.1)})
        return guided


def two_s_cfg_pp(model, x, sigmas, eta, s_noise, noise_sampler, **_):
    flow = isinstance(model.model_sampling, CONST)
    for a, b in zip(sigmas[:-1], sigmas[1:]):
        guided, free = model.estimate(x, a, 1.5), model.estimate(x, a, 1.1)
        if flow:
            down = b * (1 + (b / a - 1) * eta)
            keep = (1 - b) / (1 - down) if eta > 0 and b > 0 else torch.ones(())
            up = (b**2 - (down * keep) ** 2).clamp(min=0).sqrt() if eta > 0 else torch.zeros(())
            middle = torch.tensor(0.9999) if a == 1 else torch.sigmoid((torch.logit(a) + torch.logit(down)) / 2)
        else:
            up = torch.minimum(b, eta * (b**2 * (a**2 - b**2) / a**2).sqrt())
            down, keep = (b**2 - up**2).sqrt(), torch.ones(())
            middle = (a * down).sqrt()
        estimate = free
        if down > 0:
            estimate = model.estimate(middle / a * x + (1 - middle / a) * free, middle, 1.1)
        x = keep * (down / a * x + (1 - down / a) * estimate)
        if b > 0 and up > 0:
            x = x + up * s_noise * noise_sampler(a, b)
        x = x + (1 - b if flow else 1) * (guided - free)
    return x


def main():
    k, uni_pc = load(sys.argv[1])
    real_arange = torch.arange
    k.torch.arange = lambda *a, **kw: real_arange(*a, **{**kw, "dtype": torch.float64} if kw.get("dtype") == torch.float32 else kw)
    generator = torch.Generator().manual_seed(11)
    noise = torch.randn((40, 1, 1, 1, 3), generator=generator)
    cases = []

    def add(sampling, name, n, options=None, **kwargs):
        options = options or {}
        if isinstance(sampling, CONST):
            t = 1 - torch.arange(n) / n
            sigmas = torch.cat([SHIFT * t / (1 + (SHIFT - 1) * t), torch.zeros(1)])
        else:
            sigmas = k.get_sigmas_karras(n, LOW, HIGH)
        draws = iter(noise[1:])
        x = noise[0] * sigmas[0]
        if name.startswith("uni_pc"):
            out = uni_pc.sample_unipc(Model(sampling), x, sigmas.clone(), extra_args={}, disable=True, variant=name[7:] or "bh1")
        else:
            function = two_s_cfg_pp if name == "dpmpp_2s_ancestral_cfg_pp" else getattr(k, "sample_" + name)
            if "noise_sampler" in inspect.signature(function).parameters:
                kwargs["noise_sampler"] = lambda *_: next(draws)
            out = function(Model(sampling), x, sigmas, extra_args={}, disable=True, **kwargs)
        assert torch.isfinite(out).all(), (name, sampling.family, n)
        cases.append({"sampler": name, "path": sampling.family, "n": n, "options": options, "x": out.flatten().tolist()})

    noisy = {"eta": 1.0, "s_noise": 1.0}, {"eta": 0.6, "s_noise": 1.1}, {"eta": 0.0, "s_noise": 1.0}
    for sampling in (EPS(), CONST()):
        for n in (2, 3, 5, 12):
            for name in ("euler", "heun", "heunpp2", "dpm_2", "dpmpp_2m", "ipndm", "ipndm_v", "deis", "res_multistep", "gradient_estimation"):
                add(sampling, name, n)
            add(sampling, "lms", n, {"last_step": 1})
            for name in ("euler_cfg_pp", "dpmpp_2m_cfg_pp", "res_multistep_cfg_pp", "gradient_estimation_cfg_pp"):
                if name == "euler_cfg_pp" and isinstance(sampling, CONST):
                    continue  # it begins at sigma 1, where lambda is infinite: not a number in the reference
                add(sampling, name, n)
            for options in noisy:
                for name in ("euler_ancestral", "dpm_2_ancestral", "dpmpp_2s_ancestral", "dpmpp_sde", "dpmpp_2m_sde", "dpmpp_2m_sde_heun", "dpmpp_3m_sde",
                             "res_multistep_ancestral", "res_multistep_ancestral_cfg_pp", "seeds_2", "seeds_3"):
                    if name == "dpm_2_ancestral" and options["eta"] == 0 and isinstance(sampling, CONST):
                        continue  # the root of a rounding error: not a number in the reference
                    add(sampling, name, n, options, **options)
                add(sampling, "dpmpp_2s_ancestral_cfg_pp", n, options, **options)
                if isinstance(sampling, EPS):
                    add(sampling, "euler_ancestral_cfg_pp", n, options, **options)
            add(sampling, "dpmpp_sde", n, {"eta": 0.8, "r": 0.3}, eta=0.8, r=0.3)
            add(sampling, "seeds_2", n, {"eta": 0.8, "r": 0.7}, eta=0.8, r=0.7)
            add(sampling, "seeds_3", n, {"eta": 0.8, "r_1": 0.4, "r_2": 0.8}, eta=0.8, r_1=0.4, r_2=0.8)
            for stages in (1, 2, 3):
                for s_noise in (1.0, 0.7):
                    add(sampling, "er_sde", n, {"max_stage": stages, "s_noise": s_noise}, max_stage=stages, s_noise=s_noise)
            for name in ("sa_solver", "sa_solver_pece"):
                add(sampling, name, n)
                add(sampling, name, n, {"s_noise": 0.7}, s_noise=0.7)
                add(sampling, name, n, {"predictor_order": 2, "corrector_order": 0}, predictor_order=2, corrector_order=0)
                add(sampling, name, n, {"predictor_order": 1, "corrector_order": 2}, predictor_order=1, corrector_order=2)
            add(sampling, "lcm", n)
            if isinstance(sampling, EPS):
                add(sampling, "ddpm", n)
            for name in ("deis", "ipndm", "ipndm_v"):
                for order in (2, 4 if name == "deis" else 3):
                    add(sampling, name, n, {"max_order": order}, max_order=order)
            add(sampling, "gradient_estimation", n, {"ge_gamma": 1.4}, ge_gamma=1.4)
            if n > 2:
                add(sampling, "uni_pc", n)
                add(sampling, "uni_pc_bh2", n)
    with open("comfy_mixture.json", "w") as out:
        json.dump({"versions": {"torch": torch.__version__, "ComfyUI": "9d8a8179"}, "noise": noise.view(40, 3).tolist(), "cases": cases}, out)
    print(len(cases), "cases")


if __name__ == "__main__":
    main()
