#!/usr/bin/env python3
"""Goldens of src/sampling/schedules/sigma_schedules_test.cpp: what scipy, k-diffusion and diffusers make of one and the same ends.

    python make_schedules.py      # numpy, scipy, torch, diffusers 0.42 (Ideogram 4), k-diffusion 0.1.1; writes schedules.safetensors

A case is a tensor whose name is NAME|STEPS|VALUE; VALUE is the schedule's option (rho, threshold, beta_d, mu, tokens, alpha).
"""

import importlib.metadata
import sys
import types

import numpy as np
import scipy.special
import scipy.stats
import torch
from safetensors.numpy import save_file

sys.modules["clip"] = types.ModuleType("clip")  # imported for metrics that are not used here
import diffusers
import k_diffusion.sampling as k
from diffusers.pipelines.flux2.pipeline_flux2 import compute_empirical_mu
from diffusers.pipelines.ideogram4.pipeline_ideogram4 import _logit_normal_sigmas
from diffusers.pipelines.mochi.pipeline_mochi import linear_quadratic_schedule

torch.set_default_dtype(torch.float64)
out = {}
for n in (2, 9, 30):
    for a in (0.1, 0.6, 3.0):
        out[f"beta_quantile|{n}|{a}"] = scipy.stats.beta.ppf(np.arange(n + 1) / n, a, 1.3 * a)
    out[f"normal_quantile|{n}"] = scipy.special.ndtri(np.arange(1, n) / n)
    out[f"exponential|{n}"] = k.get_sigmas_exponential(n, 0.1, 10).numpy()
    for rho in (1.0, 7.0):
        out[f"karras|{n}|{rho}"] = k.get_sigmas_karras(n, 0.1, 10, rho).numpy()
    for rho in (1.0, 0.5, 2.0):
        out[f"polyexponential|{n}|{rho}"] = k.get_sigmas_polyexponential(n, 0.1, 10, rho).numpy()
    for beta_d in (19.9, 9.0):
        out[f"vp|{n}|{beta_d}"] = k.get_sigmas_vp(n, beta_d).numpy()
    for threshold in (0.025, 0.1):
        out[f"linear_quadratic|{n}|{threshold}"] = np.array(linear_quadratic_schedule(n, threshold) + [0.0])
    for mu in (0.0, -0.5, 3.0):
        out[f"logit_normal|{n}|{mu}"] = np.append(_logit_normal_sigmas(n, mu, std=1.5).numpy(), 0)
    # diffusers' own use_beta_sigmas is A1111's form
    s = diffusers.EulerDiscreteScheduler.from_config({"use_beta_sigmas": True, "sigma_min": 0.1, "sigma_max": 10.0})
    s.set_timesteps(n)
    out[f"beta_a1111|{n}"] = s._convert_to_beta(np.array([10.0, 0.1]), n)
    out[f"beta_a1111|{n}"] = np.append(out[f"beta_a1111|{n}"], 0)
    for tokens in (256.0, 4096.0, 4301.0, 9000.0):
        out[f"empirical_mu|{n}|{tokens}"] = np.array([compute_empirical_mu(tokens, n)])
save_file({name: np.asarray(v, dtype=np.float32) for name, v in out.items()}, "schedules.safetensors",
          {"torch": torch.__version__, "diffusers": diffusers.__version__, "k-diffusion": importlib.metadata.version("k-diffusion"),
           "scipy": scipy.__version__, "numpy": np.__version__})
print(len(out), "cases")
