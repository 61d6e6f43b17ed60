#!/usr/bin/env python3
"""Goldens of the guidance formulas: diffusers 0.39.0 with torch, safetensors; writes guidance.safetensors.

`prompt`, `negative`, `other` are answers [3, H, W, C] of three steps, one after the other (channels last); per case METHOD|JSON the
diffusers guider's result for each of them at steps 0, 1, 2 of 3. They are f32 there; norms, means and deviations are per image.
"""

import json
import math

import diffusers
import torch
from diffusers import guiders
from diffusers.guiders.guider_utils import rescale_noise_cfg
from diffusers.schedulers import DDIMScheduler
from safetensors.torch import save_file

diffusers.utils.logging.set_verbosity_error()
torch.set_num_threads(1)
STEPS, SHAPE = 3, (2, 4, 3, 5)
g = torch.Generator().manual_seed(20240301)
answers = {}
for i, name in enumerate(("prompt", "negative", "other")):
    size = torch.tensor([0.3, 2.0]).view(2, 1, 1, 1)  # the images of a batch differ in size
    common = torch.randn((STEPS, *SHAPE), generator=torch.Generator().manual_seed(7))
    answers[name] = (common + 0.4 * (i + 1) * torch.randn((STEPS, *SHAPE), generator=g) + 0.1) * size
p, n, o = (answers[k] for k in ("prompt", "negative", "other"))


def guided(guider, *names, of=answers):
    out = []
    for step in range(STEPS):
        guider.set_state(step, STEPS, torch.tensor(0))
        guider.prepare_inputs({"x": (p[step], n[step])})
        out.append(guider.forward(*[of[k][step] for k in names]).pred)
    return torch.stack(out)


out = {}


def add(name, options, value):
    out[name + "|" + json.dumps(options)] = value


both = ("prompt", "negative")
for scale in (1.5, 7.5):
    add("cfg", {"scale": scale}, guided(guiders.ClassifierFreeGuidance(guidance_scale=scale), *both))
    for phi in (0.3, 0.7, 1.0):
        add("cfg", {"scale": scale, "rescale": phi}, guided(guiders.ClassifierFreeGuidance(guidance_scale=scale, guidance_rescale=phi), *both))
add("cfg", {"scale": 4, "start": 0.34, "stop": 0.67}, guided(guiders.ClassifierFreeGuidance(guidance_scale=4, start=0.34, stop=0.67), *both))
for zero in (0, 1, 2):
    add("cfg_zero_star", {"scale": 5, "zero_steps": zero}, guided(guiders.ClassifierFreeZeroStarGuidance(guidance_scale=5, zero_init_steps=zero), *both))
add("cfg_zero_star", {"scale": 5, "zero_steps": 0, "rescale": 0.6}, guided(guiders.ClassifierFreeZeroStarGuidance(guidance_scale=5, guidance_rescale=0.6, zero_init_steps=0), *both))
for momentum, threshold, eta in ((0, 0, 1), (0, 0, 0), (-0.5, 0, 1), (-0.5, 2.5, 0), (0.3, 15, 0.4)):
    guider = guiders.AdaptiveProjectedGuidance(guidance_scale=6, adaptive_projected_guidance_momentum=momentum or None, adaptive_projected_guidance_rescale=threshold, eta=eta)
    add("apg", {"scale": 6, "momentum": momentum, "norm_threshold": threshold, "eta": eta}, guided(guider, *both))
guider = guiders.AdaptiveProjectedGuidance(guidance_scale=5, adaptive_projected_guidance_momentum=-0.75, adaptive_projected_guidance_rescale=2, eta=0, use_original_formulation=True)
add("apg", {"scale": 6, "momentum": -0.75, "norm_threshold": 2, "eta": 0, "from": 1}, guided(guider, *both))
add("tcfg", {"scale": 5}, guided(guiders.TangentialClassifierFreeGuidance(guidance_scale=5), *both))
for alpha in (8.0, 1.5):
    flat = {k: v.flatten(3) for k, v in answers.items()}  # torch.norm over three axes fails there: it is for tokens
    guider = guiders.MagnitudeAwareGuidance(guidance_scale=5, alpha=alpha)
    add("mag", {"scale": 5, "alpha": alpha}, guided(guider, *both, of=flat).view(p.shape))
# Perturbed attention guidance in the form of diffusers' PAG pipelines (c is added to what guidance gives).
add("pag", {"scale": 5, "pag_scale": 3}, n + 5 * (p - n) + 3 * (p - o))
add("pag", {"scale": 1, "pag_scale": 2}, p + 2 * (p - o))
# As the pipelines of Qwen-Image and Z-Image write it.
cfg = n + 4 * (p - n)
add("norm_preserving", {"scale": 4}, cfg * (torch.norm(p, dim=2, keepdim=True) / torch.norm(cfg, dim=2, keepdim=True)))
for most in (1.0, 2.0):
    limited = []
    for c, q in zip(cfg.flatten(0, 1), p.flatten(0, 1)):
        a, b = torch.linalg.vector_norm(q), torch.linalg.vector_norm(c)
        limited.append(c * (a * most / b) if b > a * most else c)
    add("norm_cap", {"scale": 4, "most": most}, torch.stack(limited).view(cfg.shape))
add("dual", {"scale": 7.5, "image_scale": 1.5}, n + 7.5 * (p - o) + 1.5 * (o - n))
for ratio, most in ((0.995, 1.0), (0.9, 1.5), (0.6, 100.0)):
    s = DDIMScheduler(thresholding=True, dynamic_thresholding_ratio=ratio, sample_max_value=most)
    add("threshold", {"ratio": ratio, "most": most}, torch.stack([s._threshold_sample(p[i]) for i in range(STEPS)]))

# ComfyUI's RescaleCFG: always on v, whatever the network answers. prompt and negative are x0 here, `other` is x at sigma 2.3.
sigma, vs = 2.3, []
for d in (p, n):
    vs.append((o / (sigma**2 + 1) - d) * (sigma**2 + 1) ** 0.5 / sigma)
v = vs[1] + 5 * (vs[0] - vs[1])
deviations = [torch.std(t, dim=(2, 3, 4), keepdim=True) for t in (vs[0], v)]
v = 0.7 * v * (deviations[0] / deviations[1]) + 0.3 * v
out["rescale_cfg"] = o / (sigma**2 + 1) - v * sigma / (sigma**2 + 1) ** 0.5

out = {k: v.permute(0, 1, 3, 4, 2).contiguous() for k, v in {**answers, **out}.items()}
out["growing"] = torch.tensor([1 + 6.0 * ((1 - math.cos(math.pi * ((50 - t) / 50) ** 5.0)) / 2) for t in range(0, 51, 5)])
save_file(out, "guidance.safetensors", {"diffusers": diffusers.__version__, "torch": torch.__version__})
print(len(out), "tensors")
