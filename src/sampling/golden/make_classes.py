#!/usr/bin/env python3
"""Goldens of src/sampling/class_trajectories_test.cpp: schedules and trajectories of the scheduler classes that make.py leaves out.

    python make_classes.py [CLASS …]      # numpy, scipy, torch, diffusers 0.39.0, safetensors; writes classes_*.safetensors

Cases, network and noise are as in make.py; SCHEDULE may also be mu=NUMBER (dynamic shift). Of classes that ask the network twice a step
the list of timesteps holds the first of each step, and likewise the list of sigmas. Of reversed flows the sigmas are 1 - those listed.
"""

import json
import sys
import warnings

import diffusers
import numpy as np
import torch
from diffusers import schedulers
from diffusers.utils import logging
from make import fixed_noise, network, thinned, versions
from safetensors.numpy import save_file

warnings.filterwarnings("ignore")
logging.set_verbosity_error()
FEW = [1, 2, 3, 4, 7, 20]
MANY = FEW + [999]
SD = {"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear"}


class Draws:
    def __init__(self, noise):
        self.noise, self.next = noise, 0

    def __call__(self, *a, **k):
        self.next += 1
        return self.noise[self.next - 1].clone()


def scm_answer(s, x, t):
    """What pipeline_sana_sprint.py does around its network."""
    tau = torch.sin(t) / (torch.cos(t) + torch.sin(t))
    root = torch.sqrt(tau**2 + (1 - tau) ** 2)
    inp = x / s.config.sigma_data * root
    out = network(inp, float(tau))
    return ((1 - 2 * tau) * inp + (1 - 2 * tau + 2 * tau**2) * out) / root * s.config.sigma_data


def run(s, name, noise, times, n, eta):
    draws = Draws(noise)
    init = s.config.sigma_data if name == "SCMScheduler" else getattr(s, "init_noise_sigma", 1.0)
    x = draws() * init
    sys.modules[type(s).__module__].randn_tensor = draws
    if name == "DPMSolverSDEScheduler":
        s.noise_sampler = draws
    old, back = None, None
    for t in times:
        inp = s.scale_model_input(x, t) if hasattr(s, "scale_model_input") else x
        if name == "SCMScheduler":
            x = s.step(scm_answer(s, x, t), t, x).prev_sample
            continue
        out = network(inp, float(t))
        if name == "CogVideoXDPMScheduler":
            x, old = s.step(out, old, t, back, x, return_dict=False)
            back = t
        elif name == "DDPMWuerstchenScheduler":
            x = s.step(out, t.expand(x.shape[0]), x).prev_sample
        else:
            x = s.step(out, t, x, **({} if eta is None else {"eta": eta})).prev_sample
    return init, x


def record(name, config, schedule, eta, steps, noise):
    out, s = [], None
    for n in steps:
        if name == "SCMScheduler" or name == "DDPMWuerstchenScheduler" or name == "IPNDMScheduler":
            config = {k: v for k, v in config.items() if k not in SD}
        if s is None or name == "DPMSolverSinglestepScheduler":  # which changes its own configuration for some n
            s = getattr(schedulers, name).from_config(config)
        kwargs = {"mu": float(schedule[3:])} if schedule.startswith("mu=") else {}
        if name == "SCMScheduler" and n != 2:
            kwargs["intermediate_timesteps"] = None
        s.set_timesteps(n, **kwargs)
        if hasattr(s, "set_begin_index"):
            s.set_begin_index(0)
        times = s.timesteps[:-1] if name in ("SCMScheduler", "DDPMWuerstchenScheduler") else s.timesteps
        sigmas = s.sigmas.tolist() if hasattr(s, "sigmas") and s.sigmas is not None else []
        if getattr(s, "order", 1) == 2:
            listed, sigmas = times[0::2], sigmas[0::2][:n] + sigmas[-1:]
        else:
            listed = times
        if config.get("invert_sigmas"):
            sigmas = [1 - v for v in sigmas]
        init, x = 1.0, None
        if n <= 60:
            init, x = run(s, name, noise, times, n, eta)
        elif name != "SCMScheduler":
            init = getattr(s, "init_noise_sigma", 1.0)
        kept = x.flatten()[::3].tolist() if x is not None and torch.isfinite(x).all() else []
        if x is not None and not kept:
            print("not finite in the reference:", name, config, n)
        listed, sigmas = thinned(listed.tolist()), thinned(sigmas)
        out += [n, float(init), len(listed), *listed, len(sigmas), *sigmas, len(kept), *kept]
    return np.array(out, dtype=np.float32)


SPACINGS = [{"timestep_spacing": "leading", "steps_offset": 1}, {"timestep_spacing": "trailing"}, {"timestep_spacing": "linspace"}]
CURVES = [{}, {"use_karras_sigmas": True}, {"use_exponential_sigmas": True}, {"use_beta_sigmas": True}]
TABLES = [{"beta_schedule": "squaredcos_cap_v2"}, {"beta_schedule": "linear", "beta_start": 0.0001, "beta_end": 0.02}]
ENDS = [{"use_karras_sigmas": True, "sigma_min": 0.1, "sigma_max": 9.0}, {"use_beta_sigmas": True, "sigma_min": 0.1, "sigma_max": 9.0}]
FLOW = {"prediction_type": "flow_prediction", "use_flow_sigmas": True, "flow_shift": 3.0}


def cases():
    all = []

    def add(name, config={}, schedule="default", eta=None, steps=MANY, table=SD):
        all.append((name, {**table, **config}, schedule, eta, steps))

    def bare(name, config={}, **more):
        add(name, config, table={}, **more)

    # The classes in sigma.
    for name in ("HeunDiscreteScheduler", "LMSDiscreteScheduler", "KDPM2DiscreteScheduler", "KDPM2AncestralDiscreteScheduler", "DPMSolverSDEScheduler"):
        bare(name)
        for spacing in SPACINGS:
            for curve in CURVES:
                add(name, {**spacing, **curve}, steps=[1, 2, 3, 7, 20])
            add(name, {**spacing, "prediction_type": "v_prediction"}, steps=FEW)
        for extra in (TABLES[1], ENDS[0], ENDS[1]):
            add(name, extra, steps=FEW)
        if name in ("HeunDiscreteScheduler", "LMSDiscreteScheduler"):
            add(name, {"prediction_type": "sample"}, steps=FEW)
    for extra in ({"beta_schedule": "exp"}, {"clip_sample": True}, {"clip_sample": True, "clip_sample_range": 0.5}):
        add("HeunDiscreteScheduler", extra, steps=FEW)
    for curve in CURVES[2:]:
        add("EulerDiscreteScheduler", curve)
        for spacing in SPACINGS[:2]:
            add("EulerDiscreteScheduler", {**spacing, **curve}, steps=FEW)

    # The classes in lambda.
    for algorithm in ("dpmsolver++", "sde-dpmsolver++", "dpmsolver", "sde-dpmsolver"):
        end = {} if algorithm.endswith("++") else {"final_sigmas_type": "sigma_min"}
        for order in (1, 2, 3):
            for solver in ("midpoint", "heun"):
                config = {"algorithm_type": algorithm, "solver_order": order, "solver_type": solver, **end}
                if not (algorithm == "sde-dpmsolver" and order == 3):
                    add("DPMSolverMultistepScheduler", config)
                    add("DPMSolverMultistepScheduler", {**config, "lower_order_final": False, "final_sigmas_type": "sigma_min"}, steps=FEW)
                    if order == 2:
                        add("DPMSolverMultistepScheduler", {**config, "prediction_type": "v_prediction", "timestep_spacing": "trailing"}, steps=FEW)
                        add("DPMSolverMultistepScheduler", {**config, "prediction_type": "sample", "thresholding": True, "sample_max_value": 1.5}, steps=FEW)
                if algorithm != "sde-dpmsolver":
                    add("DPMSolverSinglestepScheduler", config)
                    add("DPMSolverSinglestepScheduler", {**config, "lower_order_final": True}, steps=FEW)
                    add("DPMSolverSinglestepScheduler", {**config, "final_sigmas_type": "sigma_min", "prediction_type": "v_prediction"}, steps=FEW)
    for extra in ({"use_lu_lambdas": True}, {"use_lu_lambdas": True, "beta_schedule": "squaredcos_cap_v2"}, {"solver_order": 3, "euler_at_final": True, "final_sigmas_type": "sigma_min"}, {"thresholding": True},
                  {"thresholding": True, "dynamic_thresholding_ratio": 0.8, "sample_max_value": 3.0}):
        add("DPMSolverMultistepScheduler", extra, steps=FEW)
    add("DPMSolverSinglestepScheduler", {"thresholding": True, "sample_max_value": 2.0}, steps=FEW)
    for name in ("DPMSolverMultistepScheduler", "DPMSolverSinglestepScheduler", "UniPCMultistepScheduler", "DEISMultistepScheduler", "SASolverScheduler"):
        bare(name, steps=FEW)
        for spacing in [{}] if name == "DPMSolverSinglestepScheduler" else SPACINGS:
            add(name, spacing)
        for curve in CURVES[1:]:
            add(name, curve)
        add(name, ENDS[0], steps=FEW)
        for table in TABLES:
            add(name, table, steps=FEW)
        add(name, FLOW)
        add(name, {**FLOW, "flow_shift": 1.0, "final_sigmas_type": "sigma_min"}, steps=FEW)
        if name in ("DPMSolverMultistepScheduler", "DPMSolverSinglestepScheduler", "SASolverScheduler"):
            add(name, {"lambda_min_clipped": -2.0}, steps=FEW)
    for solver in ("bh1", "bh2"):
        for order in (1, 2, 3, 4):
            for x0 in (True, False):
                for final in ("zero", "sigma_min"):
                    add("UniPCMultistepScheduler", {"solver_type": solver, "solver_order": order, "predict_x0": x0, "final_sigmas_type": final}, steps=FEW)
    for extra in ({"prediction_type": "v_prediction", "rescale_betas_zero_snr": True, "timestep_spacing": "trailing"}, {"disable_corrector": [0, 2]}, {"lower_order_final": False, "final_sigmas_type": "sigma_min", "solver_order": 3},
                  {"thresholding": True}, {"prediction_type": "sample"}, {"use_karras_sigmas": True, "final_sigmas_type": "sigma_min"}, {**FLOW, "use_karras_sigmas": True}):
        add("UniPCMultistepScheduler", extra, steps=FEW)
    add("UniPCMultistepScheduler", {**FLOW, "shift_terminal": 0.1}, steps=FEW[1:])
    add("UniPCMultistepScheduler", {**FLOW, "use_dynamic_shifting": True}, schedule="mu=0.9", steps=FEW)
    add("UniPCMultistepScheduler", {**FLOW, "use_dynamic_shifting": True, "time_shift_type": "linear"}, schedule="mu=0.9", steps=FEW)
    add("DPMSolverMultistepScheduler", {**FLOW, "use_dynamic_shifting": True}, schedule="mu=0.9", steps=FEW)
    for extra in ({"solver_order": 1}, {"solver_order": 3}, {"solver_order": 3, "lower_order_final": False}, {"prediction_type": "v_prediction", "solver_order": 3}, {"prediction_type": "sample"}, {"thresholding": True}):
        add("DEISMultistepScheduler", extra, steps=FEW)
    for p, c in ((1, 1), (2, 3), (3, 4), (3, 1), (1, 3)):
        for kind in ("data_prediction", "noise_prediction"):
            add("SASolverScheduler", {"predictor_order": p, "corrector_order": c, "algorithm_type": kind}, steps=FEW)
    for extra in ({"lower_order_final": False}, {"prediction_type": "v_prediction"}, {"thresholding": True}, {"prediction_type": "sample", "algorithm_type": "noise_prediction"}):
        add("SASolverScheduler", extra, steps=FEW)

    # The classes by timesteps.
    for spacing in SPACINGS:
        for p in ("epsilon", "v_prediction", "sample"):
            add("DDPMScheduler", {**spacing, "prediction_type": p, "clip_sample": False}, steps=FEW)
            zero = {} if p == "epsilon" else {"rescale_betas_zero_snr": True}
            add("CogVideoXDDIMScheduler", {**spacing, "prediction_type": p, **zero}, steps=FEW)
            add("CogVideoXDPMScheduler", {**spacing, "prediction_type": p, **zero}, steps=FEW)
    for extra in ({}, {"clip_sample_range": 0.5}, {"thresholding": True}, *({"clip_sample": False, "variance_type": v} for v in ("fixed_small_log", "fixed_large")), {"beta_schedule": "sigmoid", "clip_sample": False}, {"beta_schedule": "laplace", "clip_sample": False}):
        add("DDPMScheduler", extra, steps=FEW)
    bare("DDPMScheduler", steps=MANY)
    for name in ("LCMScheduler", "TCDScheduler"):
        bare(name, steps=FEW + [50])
        for extra in ({"original_inference_steps": 100}, {"prediction_type": "v_prediction"}, {"prediction_type": "sample"}, {"prediction_type": "v_prediction", "rescale_betas_zero_snr": True}):
            add(name, extra, steps=FEW)
    for extra in ({"timestep_scaling": 0.001}, {"clip_sample": True}, {"thresholding": True, "sample_max_value": 1.2}):
        add("LCMScheduler", extra, steps=FEW)
    for eta in (0.0, 0.3, 1.0):
        add("TCDScheduler", eta=eta, steps=FEW)
    for extra in ({"snr_shift_scale": 1.0}, {"set_alpha_to_one": False}, {"beta_schedule": "linear"}):
        add("CogVideoXDDIMScheduler", extra, steps=FEW)
        add("CogVideoXDPMScheduler", extra, steps=FEW)
    for p in ("epsilon", "v_prediction"):
        for spacing in SPACINGS:
            add("PNDMScheduler", {**spacing, "prediction_type": p}, steps=[4, 5, 7, 20])
    add("PNDMScheduler", {"set_alpha_to_one": True}, steps=[4, 9, 20])

    # Without a table.
    bare("IPNDMScheduler", steps=[1, 2, 3, 4, 5, 7, 20])
    bare("SCMScheduler", steps=[1, 2, 3, 4, 7])
    bare("SCMScheduler", {"sigma_data": 0.8}, steps=[1, 2, 4])
    for config in ({}, {"scaler": 2.0}, {"scaler": 0.7, "s": 0.02}):
        bare("DDPMWuerstchenScheduler", config, steps=FEW)
    for name in ("EDMEulerScheduler", "EDMDPMSolverMultistepScheduler"):
        for p in ("epsilon", "v_prediction"):
            for curve in ("karras", "exponential"):
                bare(name, {"prediction_type": p, "sigma_schedule": curve}, steps=FEW)
        for extra in ({"sigma_min": 0.01, "sigma_max": 20.0, "sigma_data": 1.0, "rho": 5.0}, {"final_sigmas_type": "sigma_min"}):
            bare(name, extra, steps=FEW)
    for extra in ({"solver_order": 3}, {"solver_order": 1}, {"solver_type": "heun"}, {"algorithm_type": "sde-dpmsolver++"}, {"algorithm_type": "sde-dpmsolver++", "solver_type": "heun"}, {"euler_at_final": True, "final_sigmas_type": "sigma_min"}, {"lower_order_final": False, "final_sigmas_type": "sigma_min"}, {"thresholding": True}):
        bare("EDMDPMSolverMultistepScheduler", extra, steps=FEW)
    for name in ("FlowMatchEulerDiscreteScheduler", "FlowMatchLCMScheduler", "LTXEulerAncestralRFScheduler"):
        for shift in (1.0, 3.0):
            for curve in CURVES:
                bare(name, {"shift": shift, **curve}, steps=FEW)
        bare(name, {"shift": 3.0, "shift_terminal": 0.1}, steps=FEW[1:])
        for kind in ("exponential", "linear"):
            bare(name, {"use_dynamic_shifting": True, "time_shift_type": kind}, schedule="mu=1.15", steps=FEW)
    bare("FlowMatchEulerDiscreteScheduler", {"shift": 3.0, "invert_sigmas": True}, steps=FEW)
    bare("FlowMatchEulerDiscreteScheduler", {"shift": 3.0, "stochastic_sampling": True}, steps=FEW)
    bare("LTXEulerAncestralRFScheduler", {"shift": 2.0, "eta": 0.5, "s_noise": 0.9}, steps=FEW)
    bare("LTXEulerAncestralRFScheduler", {"eta": 0.0}, steps=FEW)
    for shift in (1.0, 3.0):
        bare("FlowMatchHeunDiscreteScheduler", {"shift": shift}, steps=FEW)
    return all


FILES = {
    "sigma": ("Heun", "LMS", "KDPM2", "DPMSolverSDE", "EulerDiscrete"),
    "dpm": ("DPMSolverMultistep", "DPMSolverSinglestep"),
    "lambda": ("UniPC", "DEIS", "SASolver"),
    "alpha": ("DDPMScheduler", "LCM", "TCD", "CogVideoX", "PNDM", "IPNDM", "SCM", "DDPMWuerstchen"),
    "flow": ("FlowMatch", "LTX", "EDM"),
}

if __name__ == "__main__":
    noise = fixed_noise(52)
    files = {}
    seen = set()
    for name, config, schedule, eta, steps in cases():
        file = next(f for f, names in FILES.items() if any(name.startswith(n) for n in names))
        if sys.argv[1:] and file not in sys.argv[1:]:
            continue
        key = "|".join([name, schedule, "" if eta is None else str(eta), json.dumps(config)])
        if key in seen:
            continue
        seen.add(key)
        files.setdefault(file, {})[key] = record(name, dict(config), schedule, eta, steps, noise)
    for file, of in files.items():
        save_file({"noise": torch.stack(noise).numpy(), **of}, f"classes_{file}.safetensors", versions(torch, diffusers, np))
        print(file, len(of), "cases")
