"""Goldens of editing as ComfyUI and A1111 do it, with the small checkpoints that make.py wrote.

    OMP_NUM_THREADS=1 python make_editing_peers.py

needs k-diffusion 0.1.1, diffusers, transformers, torch and Pillow; writes editing_peers.json (the cases) and editing_peers.safetensors (per case the
final latents [n, 4, h, w] f32). The programs are what their samplers are made of: k-diffusion's around diffusers' UNet, with the levels, the start
and the masks as docs/editing.md tells them. Pictures, masks and the wider UNets are those of make_editing.py.
"""

import json
import math
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
    "a1111_paint9": dict(BASE, compat="a1111", sampler="euler", strength=0.75, paint=True, channels=9),
}


def nv_normals(seed, draw, shape):
    from numpy import uint64 as u
    n, mask = math.prod(shape), u(0xFFFFFFFF)
    c, k = [np.full(n, draw, u), np.zeros(n, u), np.arange(n, dtype=u), np.zeros(n, u)], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = c[0] * u(0xD2511F53), c[2] * u(0xCD9E8D57)
        c = [(b >> u(32)) ^ c[1] ^ u(k[0]), b & mask, (a >> u(32)) ^ c[3] ^ u(k[1]), a & mask]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    x, y = c[0] * 2.0**-32 + 2.0**-33, (c[1] * 2.0**-32 + 2.0**-33) * float(np.float32(2 * math.pi))
    return torch.from_numpy((np.sqrt(-2 * np.log(x)) * np.sin(y)).astype(np.float32)).view(shape)


def draws_of(c, shape):
    """The first noise, a function that gives the steps', and one that gives the posteriors' (none: their mean is taken)."""
    seeds = [c["seed"] + k for k in range(shape[0])]
    if c["compat"] == "comfyui":
        later = torch.Generator().manual_seed(c["seed"] + 1)
        return torch.randn(shape, generator=torch.Generator().manual_seed(c["seed"])), lambda: torch.randn(shape, generator=later), lambda: None
    state, own = {"draw": 0}, [torch.Generator().manual_seed(s) for s in seeds]

    def draw():
        state["draw"] += 1
        return torch.stack([nv_normals(s, state["draw"] - 1, shape[1:]) for s in seeds])

    return draw(), draw, lambda: torch.stack([torch.randn(shape[1:], generator=g) for g in own])


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

    class Denoiser(kd.external.DiscreteEpsDDPMDenoiser):
        def get_eps(self, x, t, **_):
            if beside is not None:
                x = torch.cat([x, beside], 1)
            n, p = unet(torch.cat([x, x]), torch.cat([t, t]), encoder_hidden_states=context).sample.chunk(2)
            return n + c["guidance"] * (p - n)

    table = EulerDiscreteScheduler.from_config(pipe.scheduler.config).alphas_cumprod.float()
    inner = Denoiser(None, table, quantize=comfy)

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
        sigmas = kd.sampling.get_sigmas_karras(n, low, high)[n - int(min(strength, 0.999) * n) - 1:]
    whole = comfy and float(sigmas[0]) >= high * (1 - 1e-5)
    x = z + first * (torch.sqrt(1 + sigmas[0] ** 2) if whole else sigmas[0])
    kwargs = {"noise_sampler": lambda *_: later()} if "ancestral" in c["sampler"] else {}
    x = getattr(kd.sampling, "sample_" + c["sampler"])(denoise, x, sigmas, disable=True, **kwargs)
    return x * mask + z * (1 - mask) if mask is not None and not comfy else x


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
