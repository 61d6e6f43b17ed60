#!/usr/bin/env python3
"""Goldens of src/sampling: schedules, trajectories and random numbers of diffusers and torch.

    python make.py            # numpy, torch, diffusers 0.39.0, safetensors; writes trajectories_*, tables and noise.safetensors
    python make.py k          # k-diffusion 0.1.1; writes k_diffusion.safetensors

A case is a tensor whose name is CLASS|SCHEDULE|ETA|JSON; it holds, for some numbers of steps n,
    n, init_noise_sigma, count, timesteps, count of sigmas, sigmas, count of x, every third value of the final x (NCHW)
Of lists longer than 60 only every 29th value and the last are kept. Count of x is 0 above 60 steps, where nothing is run, and where the
reference itself answers NaN (Euler ancestral on squaredcos_cap_v2, whose first sigma is 20 000).
The network is `network` below, in f32; noise k of a run is entry k of the tensor `noise`, entry 0 being the start.
"""

import json
import sys

import numpy as np
import torch
from safetensors.numpy import save_file

STEPS = [1, 2, 3, 4, 7, 20, 50, 999]
SHAPE = (2, 4, 3, 5)
torch.set_num_threads(1)


def network(x, t):
    """Smooth, mixes channels, depends on the time; only + - * / in f32, one rounding each."""
    s = np.float32(t) / np.float32(1000)
    a = float(np.float32(0.6) + np.float32(0.3) * s)
    b = float(np.float32(0.05) * s)
    bias = torch.tensor([-1.5, -0.5, 0.5, 1.5], dtype=torch.float32).view(1, 4, 1, 1) * 0.1
    return x * a + torch.roll(x, -1, 1) * 0.2 / (x * x + 1.0) + bias + b


def thinned(values):
    values = list(values)
    return values if len(values) <= 60 else values[::29] + values[-1:]


def record(noise_list, make, steps, eta):
    out = []
    for n in steps:
        s = make()
        s.set_timesteps(n)
        if hasattr(s, "set_begin_index"):
            s.set_begin_index(0)  # the pipeline lets the first timestep be looked up, which is the same unless it occurs twice
        after = getattr(s, "after_set_timesteps", None)
        if after:
            after(n)
        sigmas = s.sigmas.tolist() if hasattr(s, "sigmas") else []
        times = s.timesteps.tolist()
        x_final = []
        if n <= 60:
            draws = iter(noise_list[1:])
            s.draw = lambda: next(draws)
            x = noise_list[0] * s.init_noise_sigma
            for t in s.timesteps:
                out_t = network(s.scale_model_input(x, t), float(t))
                kwargs = {} if eta is None else {"eta": eta, "variance_noise": s.draw() if eta > 0 else None}
                Patch.draw = s.draw
                x = s.step(out_t, t, x, **kwargs).prev_sample
            if torch.isfinite(x).all():
                x_final = x.flatten()[::3].tolist()
            else:
                print("not finite in the reference:", type(s).__name__, n, s.config.beta_schedule)
        times, sigmas = thinned(times), thinned(sigmas)
        out += [n, float(s.init_noise_sigma), len(times), *times, len(sigmas), *sigmas, len(x_final), *x_final]
    return np.array(out, dtype=np.float32)


class Patch:
    draw = None


def diffusers_cases():
    from diffusers import DDIMScheduler, DPMSolverMultistepScheduler, EulerAncestralDiscreteScheduler, EulerDiscreteScheduler, PNDMScheduler
    from diffusers.schedulers import scheduling_euler_ancestral_discrete as ancestral

    ancestral.randn_tensor = lambda *a, **k: Patch.draw()
    classes = {c.__name__: c for c in (DDIMScheduler, DPMSolverMultistepScheduler, EulerAncestralDiscreteScheduler, EulerDiscreteScheduler, PNDMScheduler)}
    sd = {"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear"}
    spacings = [{"timestep_spacing": "leading"}, {"timestep_spacing": "leading", "steps_offset": 1}, {"timestep_spacing": "trailing"}, {"timestep_spacing": "linspace"}]
    trained = {"trained_betas": [round(0.001 + 0.019 * (i / 39) ** 2, 6) for i in range(40)], "num_train_timesteps": 40}

    cases = []

    def add(name, config, schedule="default", eta=None, steps=STEPS):
        cases.append((name, schedule, eta, {**sd, **config}, steps))

    for p in ("epsilon", "v_prediction", "sample"):
        for sp in spacings:
            for zero in (False, True):
                z = {"rescale_betas_zero_snr": True} if zero else {}
                base = {"prediction_type": p, **sp, **z}
                for one in (False, True):
                    if not (zero and p == "epsilon" and sp["timestep_spacing"] != "leading"):
                        add("DDIMScheduler", {**base, "set_alpha_to_one": one, "clip_sample": False})
                    if p != "sample" and not zero:
                        add("PNDMScheduler", {**base, "set_alpha_to_one": one, "skip_prk_steps": True})
                for k in (False, True):
                    add("EulerDiscreteScheduler", {**base, "use_karras_sigmas": k})
                    if sp.get("steps_offset") == 1 and k:
                        continue
                    add("DPMSolverMultistepScheduler", {**base, "use_karras_sigmas": k})
                if p != "sample":
                    add("EulerAncestralDiscreteScheduler", base)
    # Defaults of each class where the file says nothing.
    for name in classes:
        cases.append((name, "default", None, {"skip_prk_steps": True, "clip_sample": False}, STEPS))
        for table in ({"beta_schedule": "squaredcos_cap_v2"}, {"beta_schedule": "linear", "beta_start": 0.0001, "beta_end": 0.02}):
            add(name, {**table, "skip_prk_steps": True, "clip_sample": False})
        add(name, {**trained, "skip_prk_steps": True, "clip_sample": False}, steps=[1, 2, 3, 4, 7, 20])
    # The rest of the keys.
    for extra in ({"interpolation_type": "log_linear"}, {"interpolation_type": "log_linear", "use_karras_sigmas": True}, {"timestep_type": "continuous"},
                  {"timestep_type": "continuous", "prediction_type": "v_prediction"}, {"timestep_type": "continuous", "prediction_type": "v_prediction", "interpolation_type": "log_linear"},
                  {"final_sigmas_type": "sigma_min"}, {"use_karras_sigmas": True, "sigma_min": 0.1, "sigma_max": 9.0}, {"use_karras_sigmas": True, "beta_schedule": "squaredcos_cap_v2"}):
        add("EulerDiscreteScheduler", extra)
    for extra in ({"final_sigmas_type": "sigma_min"}, {"final_sigmas_type": "sigma_min", "lower_order_final": False}, {"final_sigmas_type": "sigma_min", "euler_at_final": True, "lower_order_final": False},
                  {"lower_order_final": False}, {"lambda_min_clipped": -2.0}, {"lambda_min_clipped": -2.0, "timestep_spacing": "leading"}, {"lambda_min_clipped": -2.0, "timestep_spacing": "trailing"},
                  {"use_karras_sigmas": True, "sigma_min": 0.1, "sigma_max": 9.0}, {"use_karras_sigmas": True, "beta_schedule": "squaredcos_cap_v2"}, {"algorithm_type": "deis", "solver_type": "logrho", "final_sigmas_type": "sigma_min"}):
        add("DPMSolverMultistepScheduler", extra, steps=[1, 2, 3, 4, 7, 20, 50] if "lambda_min_clipped" in extra else STEPS)
    for extra in ({"clip_sample": True}, {"clip_sample": True, "clip_sample_range": 0.4, "set_alpha_to_one": False}, {"clip_sample": True, "prediction_type": "v_prediction"}):
        add("DDIMScheduler", extra)
    for eta in (0.0, 0.35, 1.0):
        add("DDIMScheduler", {"clip_sample": False}, eta=eta)
    add("DDIMScheduler", {"clip_sample": False, "timestep_spacing": "trailing"}, eta=1.0)
    # Karras sigmas under classes of diffusers that have none: Euler's schedule under the ancestral step; DPM-Solver++ of order 1, which is DDIM.
    add("DDIMScheduler", {"timestep_spacing": "trailing", "clip_sample": False, "rescale_betas_zero_snr": True, "prediction_type": "v_prediction"}, schedule="karras")
    # Where the rounding of numpy.arange's step decides.
    for name in classes:
        add(name, {"timestep_spacing": "trailing", "skip_prk_steps": True, "clip_sample": False, "set_alpha_to_one": name == "PNDMScheduler"}, steps=[48, 112, 992])
    for sp in spacings:
        add("EulerAncestralDiscreteScheduler", sp, schedule="karras")
        add("DDIMScheduler", {**sp, "clip_sample": False}, schedule="karras")

    def maker(name, schedule, config):
        if schedule == "karras" and name == "DDIMScheduler":
            return lambda: DPMSolverMultistepScheduler.from_config({**config, "solver_order": 1, "use_karras_sigmas": True})
        if schedule == "karras":
            def make():
                s = EulerAncestralDiscreteScheduler.from_config(config)
                def after(n):
                    e = EulerDiscreteScheduler.from_config({**config, "use_karras_sigmas": True})
                    e.set_timesteps(n)
                    s.sigmas, s.timesteps = e.sigmas, e.timesteps
                s.after_set_timesteps = after
                return s
            return make
        return lambda: classes[name].from_config(config)

    return [(n, s, e, c, st, maker(n, s, c)) for n, s, e, c, st in cases]


def versions(*modules):
    return {m.__name__: m.__version__ for m in modules}


def fixed_noise(count):
    generator = torch.Generator().manual_seed(20240229)
    return [torch.randn(SHAPE, generator=generator) for _ in range(count)]


def make_trajectories():
    import diffusers

    noise = fixed_noise(52)
    files = {}
    for name, schedule, eta, config, steps, make in diffusers_cases():
        file = files.setdefault({"DDIMScheduler": "ddim", "PNDMScheduler": "plms", "EulerDiscreteScheduler": "euler", "EulerAncestralDiscreteScheduler": "euler_ancestral"}.get(name, "dpmpp_2m"), {})
        key = "|".join([name, schedule, "" if eta is None else str(eta), json.dumps(config)])
        assert key not in file, key
        file[key] = record(noise, make, steps, eta)
    for file, cases in files.items():
        save_file({"noise": torch.stack(noise).numpy(), **cases}, f"trajectories_{file}.safetensors", versions(torch, diffusers, np))
        print(file, len(cases), "cases")


def make_tables():
    import diffusers

    out = {}
    sd = {"beta_start": 0.00085, "beta_end": 0.012}
    for config in ({}, sd, {**sd, "beta_schedule": "scaled_linear"}, {"beta_schedule": "squaredcos_cap_v2"}, {"num_train_timesteps": 1}, {"num_train_timesteps": 77, **sd, "beta_schedule": "scaled_linear"},
                   {"num_train_timesteps": 3, "trained_betas": [0.1, 0.2, 0.4]}):
        out[json.dumps(config)] = diffusers.DDIMScheduler.from_config(config).alphas_cumprod.numpy()
    save_file(out, "../schedules/golden/tables.safetensors", versions(torch, diffusers))


def make_noise():
    out = {}
    for seed in (0, 42, 2**32 + 7, 2**64 - 1):
        for n in [*range(1, 20), 31, 32, 33, 100, 480, 16384]:
            g = torch.Generator().manual_seed(seed if seed < 2**63 else seed - 2**64)
            u = torch.rand(n, generator=g).numpy()
            g = torch.Generator().manual_seed(seed if seed < 2**63 else seed - 2**64)
            v = torch.randn(n, generator=g).numpy()
            if n == 16384:
                u, v = u[::41].copy(), v[::41].copy()
            out[f"uniform|{seed}|{n}"], out[f"normal|{seed}|{n}"] = u, v
    g = torch.Generator().manual_seed(7)  # what one generator keeps between draws
    for i, n in enumerate([3, 20, 1, 5, 16, 17, 2, 1, 7]):
        out[f"sequence|{i}|{n}"] = torch.randn(n, generator=g).numpy()
    g = torch.Generator().manual_seed(5)
    out["one|first"], out["one|second"] = torch.randn((3, 4, 3, 5), generator=g).numpy(), torch.randn((3, 4, 3, 5), generator=g).numpy()
    gs = [torch.Generator().manual_seed(5 + k) for k in range(3)]
    out["each|first"] = torch.cat([torch.randn((1, 4, 3, 5), generator=g) for g in gs]).numpy()
    out["each|second"] = torch.cat([torch.randn((1, 4, 3, 5), generator=g) for g in gs]).numpy()
    save_file(out, "../noise/golden/noise.safetensors", versions(torch))


def make_k_diffusion():
    import importlib.metadata
    import types

    sys.modules["clip"] = types.ModuleType("clip")  # imported for metrics that are not used here
    import k_diffusion.sampling as k

    noise = fixed_noise(22)

    def denoise(x, sigma):
        sigma = sigma[0]
        return x - network(x / (sigma**2 + 1) ** 0.5, float(sigma)) * sigma

    out = {"noise": torch.stack(noise).numpy()}
    for n in (1, 2, 5, 10, 20):
        sigmas = k.get_sigmas_karras(n, 0.0291671582, 14.6146412293)
        out[f"sigmas|{n}"] = sigmas.numpy()
        for name, eta in (("euler", None), ("euler_ancestral", 1.0), ("euler_ancestral", 0.4), ("euler_ancestral", 1.5), ("euler_ancestral", 0.0), ("dpmpp_2m", None)):
            draws = iter(noise[1:])
            kwargs = {} if eta is None else {"eta": eta, "noise_sampler": lambda *a: next(draws)}
            x = getattr(k, "sample_" + name)(denoise, noise[0] * sigmas[0], sigmas, disable=True, **kwargs)
            out[f"{name}|{'' if eta is None else eta}|{n}"] = x.numpy()
    save_file(out, "k_diffusion.safetensors", {**versions(torch), "k-diffusion": importlib.metadata.version("k-diffusion")})


if __name__ == "__main__":
    if "k" in sys.argv[1:]:
        make_k_diffusion()
    else:
        make_noise()
        make_tables()
        make_trajectories()
