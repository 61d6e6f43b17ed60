"""Goldens of editing as ComfyUI and A1111 do it, with the small checkpoints that make.py wrote.

    OMP_NUM_THREADS=1 python make_editing_peers.py

needs k-diffusion 0.1.1, torchsde 0.2.6, diffusers, transformers, torch and Pillow; writes editing_peers.json (the cases) and editing_peers.safetensors (per case the
final latents [n, 4, h, w] f32). The programs are what their samplers are made of: k-diffusion's around diffusers' UNet, with the levels, the start
and the masks as docs/editing.md tells them, and what a1111.py says of A1111's own samplers. Pictures, masks and the wider UNets are those of make_editing.py.
"""

import json
import os
import sys
import types
import warnings
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
warnings.filterwarnings("ignore")
sys.modules["clip"] = types.ModuleType("clip")

import k_diffusion as kd  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from diffusers import EulerDiscreteScheduler, StableDiffusionPipeline, UNet2DConditionModel  # noqa: E402
from PIL import Image  # noqa: E402
from safetensors.torch import save_file  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import a1111  # noqa: E402
import make_editing  # noqa: E402

BASE = dict(checkpoint="pndm", prompt="a red house on green hills", negative="night", width=64, height=64, steps=8, guidance=5.0, seed=17, schedule="karras")
CASES = {
    "comfy_image": dict(BASE, compat="comfyui", sampler="euler", strength=0.6),
    "comfy_image_whole": dict(BASE, compat="comfyui", sampler="euler", strength=1.0),
    "comfy_image_ancestral": dict(BASE, compat="comfyui", sampler="euler_ancestral", strength=0.5, batch=2),
    "comfy_paint": dict(BASE, compat="comfyui", sampler="euler_ancestral", strength=0.7, paint=True),
    "comfy_paint_dpmpp": dict(BASE, compat="comfyui", sampler="dpmpp_2m", strength=1.0, paint=True, batch=2),
    "comfy_paint9": dict(BASE, compat="comfyui", sampler="euler", strength=0.8, paint=True, channels=9),
    "a1111_image": dict(BASE, compat="a1111", sampler="euler", strength=0.55, batch=2),
    "a1111_image_whole": dict(BASE, compat="a1111", sampler="dpmpp_2m", strength=1.0),
    "a1111_paint": dict(BASE, compat="a1111", sampler="dpmpp_2m", strength=0.6, paint=True),
    "a1111_paint_ancestral": dict(BASE, compat="a1111", sampler="euler_ancestral", strength=0.75, paint=True, batch=2),
    "a1111_paint_noise": dict(BASE, compat="a1111", sampler="euler", strength=0.75, paint=True, fill="noise"),
    "a1111_paint_nothing": dict(BASE, compat="a1111", sampler="euler", strength=0.75, paint=True, fill="nothing"),
    "a1111_image_sde": dict(BASE, compat="a1111", sampler="dpmpp_2m_sde", strength=0.6, batch=2),
    "a1111_image_dpm_fast": dict(BASE, compat="a1111", sampler="dpm_fast", strength=0.7, batch=2),
    "a1111_image_lcm": dict(BASE, compat="a1111", sampler="lcm", strength=0.6, guidance=1.5),
    "a1111_image_ddim": dict(BASE, compat="a1111", sampler="ddim", strength=0.6, batch=2, schedule=""),
    "a1111_image_plms": dict(BASE, compat="a1111", sampler="plms", strength=0.7, schedule=""),
    "a1111_image_uni_pc": dict(BASE, compat="a1111", sampler="uni_pc", strength=0.7, schedule=""),
    "a1111_paint_ddim": dict(BASE, compat="a1111", sampler="ddim", strength=0.6, paint=True, schedule=""),
    "a1111_paint9": dict(BASE, compat="a1111", sampler="euler", strength=0.75, paint=True, channels=9),
}


def draws_of(c, shape):
    """The first noise, a function that gives the steps', and one that gives the posteriors' (none: their mean is taken)."""
    seeds = [c["seed"] + k for k in range(shape[0])]
    if c["compat"] == "comfyui":
        later = torch.Generator().manual_seed(c["seed"] + 1)
        return torch.randn(shape, generator=torch.Generator().manual_seed(c["seed"])), lambda: torch.randn(shape, generator=later), lambda: None
    own = [torch.Generator().manual_seed(s) for s in seeds]
    return *a1111.draws(c["seed"], shape), lambda: torch.stack([torch.randn(shape[1:], generator=g) for g in own])


def run(c):
    pipe = StableDiffusionPipeline.from_pretrained(HERE / c["checkpoint"], torch_dtype=torch.float32, safety_checker=None)
    unet, batch, comfy = pipe.unet, c.get("batch", 1), c["compat"] == "comfyui"
    if c.get("channels"):
        unet = make_editing.wide_input(UNet2DConditionModel.from_pretrained(HERE / c["checkpoint"] / "unet", torch_dtype=torch.float32), c["channels"])[0]
    W, H = c["width"], c["height"]
    shape = (batch, 4, H // 8, W // 8)
    first, later, posterior = draws_of(c, shape)
    levels = make_editing.mask(W, H)
    picture = torch.from_numpy(make_editing.picture(W, H)).permute(2, 0, 1)[None].float() / 255 * 2 - 1
    pixels = torch.from_numpy(levels)[None, None].float() / 255

    def encode(x):
        p, noise = pipe.vae.encode(x).latent_dist, posterior()
        z = p.mean.expand(shape) if noise is None else p.mean + p.std * noise
        return z * pipe.vae.config.scaling_factor

    z, mask, beside = encode(picture), None, None
    if c.get("paint"):
        if comfy:
            mask = torch.nn.functional.interpolate(pixels, size=shape[2:], mode="bilinear")
        else:
            small = Image.fromarray(levels).convert("RGB").resize((shape[3], shape[2]))
            mask = torch.from_numpy(np.around(np.moveaxis(np.array(small, dtype=np.float32), 2, 0) / 255)[:1])[None]
        if c.get("channels"):
            told = mask.round() if comfy else torch.nn.functional.interpolate(pixels.round(), size=shape[2:])
            beside = torch.cat([told.expand(batch, -1, -1, -1), encode(picture * (1 - pixels.round()))], 1)
        if c.get("fill") == "noise":
            z = z * (1 - mask) + first * mask
        if c.get("fill") == "nothing":
            z = z * (1 - mask)

    prompt, negative = pipe.encode_prompt(c["prompt"], "cpu", batch, True, c["negative"])
    context = torch.cat([negative, prompt])

    def answer(x, t):
        if beside is not None:
            x = torch.cat([x, beside], 1)
        return unet(torch.cat([x, x]), torch.cat([t, t]), encoder_hidden_states=context).sample.chunk(2)

    class Denoiser(kd.external.DiscreteEpsDDPMDenoiser):
        def get_eps(self, x, t, **_):
            return a1111.guided(answer(x, t), c["guidance"])

    table = EulerDiscreteScheduler.from_config(pipe.scheduler.config).alphas_cumprod.float()
    if c["sampler"] in ("ddim", "plms", "uni_pc"):
        seen = (lambda x, t: answer(x * mask + z * (1 - mask), t)) if mask is not None else answer
        x = by_times(c, seen, z, first, table.double())
        return x * mask + z * (1 - mask) if mask is not None else x
    inner = Denoiser(None, table, quantize=comfy)
    lcm = a1111.Lcm(table) if c["sampler"] == "lcm" else None
    if lcm:
        inner.sigmas = lcm.sigmas

    def denoise(x, sigma, **_):
        if mask is None:
            return inner(x, sigma)
        if comfy:
            x = x * mask + (z + first * sigma[:, None, None, None]) * (1 - mask)
        return inner(x, sigma) * mask + z * (1 - mask)

    n, strength = c["steps"], c["strength"]
    low, high = float(inner.sigmas[0]), float(inner.sigmas[-1])
    if comfy:
        sigmas = kd.sampling.get_sigmas_karras(int(n / strength), low, high)[-(n + 1):]
    else:
        all_sigmas = kd.sampling.get_sigmas_karras(n, low, high)
        sigmas = all_sigmas[n - int(min(strength, 0.999) * n) - 1:]
    whole = comfy and float(sigmas[0]) >= high * (1 - 1e-5)
    x = z + first * (torch.sqrt(1 + sigmas[0] ** 2) if whole else sigmas[0])
    if lcm:
        return lcm.run(answer, x, sigmas, c["guidance"], later)
    kwargs = {"noise_sampler": lambda *_: later()} if "ancestral" in c["sampler"] else {}
    if c["sampler"] == "dpm_fast":
        return kd.sampling.sample_dpm_fast(denoise, x, sigmas[-2], sigmas[0], len(sigmas) - 1, disable=True, eta=1.0, noise_sampler=lambda *_: later())
    if "sde" in c["sampler"]:  # the path is that of all levels, not of those that are left
        a1111.take_normals_of_trees("nv")
        low, high = all_sigmas[all_sigmas > 0].min(), all_sigmas.max()
        kwargs["noise_sampler"] = kd.sampling.BrownianTreeNoiseSampler(x, low, high, seed=[c["seed"] + k for k in range(batch)])
    x = getattr(kd.sampling, "sample_" + c["sampler"])(denoise, x, sigmas, disable=True, **kwargs)
    return x * mask + z * (1 - mask) if mask is not None and not comfy else x


def by_times(c, answer, z, first, bars):
    """From the timestep after those that are left; UniPC takes what it has there for the last of them."""
    times, left = a1111.timesteps(c["steps"]), int(min(c["strength"], 0.999) * c["steps"])
    x = bars[times[left]].sqrt().float() * z + (1 - bars[times[left]]).sqrt().float() * first
    if c["sampler"] == "uni_pc":
        return a1111.uni_pc(answer, x, left, bars, c["guidance"], start=times[left - 1] / 1000 + 1 / 1000)
    return a1111.by_times(c["sampler"], answer, x, times[:left], bars, c["guidance"])


def main():
    out = {}
    for name, c in CASES.items():
        with torch.no_grad():
            out[name] = run(c).float().contiguous()
        print(name, tuple(out[name].shape), float(out[name].std()))
    (HERE / "editing_peers.json").write_text(json.dumps({"versions": {"torch": torch.__version__, "k-diffusion": "0.1.1"}, "cases": CASES}, indent=1) + "\n")
    save_file(out, HERE / "editing_peers.safetensors")


if __name__ == "__main__":
    main()
