"""Goldens of other programs' conventions and of guidance: final latents from the small checkpoints that make.py wrote.

    OMP_NUM_THREADS=1 python make_peers.py

needs k-diffusion 0.1.1, torchsde 0.2.6, diffusers, transformers and torch; writes peers.json (the cases) and peers.safetensors
(per case the final latents [n, c, h, w] f32). ComfyUI and A1111 are what their samplers are made of: k-diffusion's samplers and
denoisers around diffusers' UNet, the noise, levels and start as ../../../docs/samplers.md tells them.
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

import diffusers  # noqa: E402
import k_diffusion as kd  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from diffusers import StableDiffusionPAGPipeline, StableDiffusionPipeline  # noqa: E402
from safetensors.torch import save_file  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "src/sampling/golden"))
torch.set_num_threads(1)
diffusers.utils.logging.set_verbosity_error()
diffusers.utils.logging.disable_progress_bar()

BASE = dict(prompt="a red house on green hills", negative="night", width=64, height=64, steps=5, guidance=5.0, seed=7)
CASES = {
    "comfy_euler": dict(BASE, checkpoint="pndm", compat="comfyui", sampler="euler"),
    "comfy_euler_batch": dict(BASE, checkpoint="pndm", compat="comfyui", sampler="euler", batch=3, steps=3),
    "comfy_euler_karras_v": dict(BASE, checkpoint="ddim_v", compat="comfyui", sampler="euler", schedule="karras"),
    "comfy_ancestral": dict(BASE, checkpoint="pndm", compat="comfyui", sampler="euler_ancestral", batch=2),
    "comfy_dpmpp_2m_karras": dict(BASE, checkpoint="pndm", compat="comfyui", sampler="dpmpp_2m", schedule="karras", steps=6),
    "comfy_ddim": dict(BASE, checkpoint="pndm", compat="comfyui", sampler="ddim"),
    "comfy_ddim_uniform": dict(BASE, checkpoint="pndm", compat="comfyui", sampler="euler", schedule="ddim_uniform"),
    "a1111_euler": dict(BASE, checkpoint="pndm", compat="a1111", sampler="euler"),
    "a1111_ancestral": dict(BASE, checkpoint="pndm", compat="a1111", sampler="euler_ancestral", batch=2),
    "a1111_ancestral_ensd": dict(BASE, checkpoint="pndm", compat="a1111", sampler="euler_ancestral", batch=2, ensd=31337),
    "a1111_dpmpp_2m_karras": dict(BASE, checkpoint="pndm", compat="a1111", sampler="dpmpp_2m", schedule="karras", steps=6),
    "rescale": dict(BASE, checkpoint="pndm", sampler="euler", rescale=0.7),
    "pag": dict(BASE, checkpoint="pndm", sampler="euler", method="pag", options={"pag_scale": 3}, batch=2),
    "pag_adaptive_down": dict(BASE, checkpoint="pndm", sampler="euler", method="pag", options={"pag_scale": 4, "adaptive": 0.005, "layers": "down"}),
    "pag_alone": dict(BASE, checkpoint="pndm", sampler="euler", guidance=1.0, negative="", method="pag", options={"pag_scale": 2}),
}


def philox_normals(seed, draw, n):
    from numpy import uint64 as u
    c = [np.full(n, draw, u), np.zeros(n, u), np.arange(n, dtype=u), np.zeros(n, u)]
    k = [seed & 0xFFFFFFFF, seed >> 32]
    mask = u(0xFFFFFFFF)
    for _ in range(10):
        a, b = c[0] * u(0xD2511F53), c[2] * u(0xCD9E8D57)
        c = [(b >> u(32)) ^ c[1] ^ u(k[0]), b & mask, (a >> u(32)) ^ c[3] ^ u(k[1]), a & mask]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    x = c[0] * 2.0**-32 + 2.0**-33
    y = (c[1] * 2.0**-32 + 2.0**-33) * float(np.float32(2 * math.pi))
    return torch.from_numpy((np.sqrt(-2 * np.log(x)) * np.sin(y)).astype(np.float32))


def noise_of(c, shape):
    """First noise, and a function that gives the noise of the steps."""
    if c["compat"] == "comfyui":
        g, later = torch.Generator().manual_seed(c["seed"]), torch.Generator().manual_seed(c["seed"] + 1)
        return torch.randn(shape, generator=g), lambda: torch.randn(shape, generator=later)
    seeds, state = [c["seed"] + k for k in range(shape[0])], {"draw": 0}

    def draw(delta=0):
        number, state["draw"] = state["draw"], state["draw"] + 1
        return torch.stack([philox_normals(s + delta, number, math.prod(shape[1:])).view(shape[1:]) for s in seeds])

    first, ensd = draw(), c.get("ensd", 0)
    if ensd:
        state["draw"] = 0
    return first, lambda: draw(ensd)


def peer(c, pipe):
    unet, batch = pipe.unet, c.get("batch", 1)
    prompt, negative = pipe.encode_prompt(c["prompt"], "cpu", batch, True, c["negative"])
    context = torch.cat([negative, prompt])

    class Network:
        def answer(self, x, t):
            n, p = unet(torch.cat([x, x]), torch.cat([t, t]), encoder_hidden_states=context).sample.chunk(2)
            return n + c["guidance"] * (p - n)

    v = pipe.scheduler.config.prediction_type == "v_prediction"
    base = kd.external.DiscreteVDDPMDenoiser if v else kd.external.DiscreteEpsDDPMDenoiser

    class Denoiser(base):
        def get_eps(self, x, t, **_):
            return self.inner_model.answer(x, t)

        get_v = get_eps

    euler = diffusers.EulerDiscreteScheduler.from_config(pipe.scheduler.config)
    denoise = Denoiser(Network(), euler.alphas_cumprod.float(), quantize=c["compat"] == "comfyui")
    n, low, high = c["steps"], float(denoise.sigmas[0]), float(denoise.sigmas[-1])
    schedule = c.get("schedule", "normal")
    if schedule == "normal":
        t = torch.linspace(len(denoise.sigmas) - 1, 0, n)
        sigmas = torch.cat([torch.exp((1 - t.frac()) * denoise.log_sigmas[t.floor().long()] + t.frac() * denoise.log_sigmas[t.ceil().long()]), torch.zeros(1)])
    elif schedule == "ddim_uniform":
        step = max(len(denoise.sigmas) // n, 1)
        sigmas = torch.cat([denoise.sigmas[1::step].flip(0), torch.zeros(1)])
    else:
        sigmas = {"karras": kd.sampling.get_sigmas_karras, "exponential": kd.sampling.get_sigmas_exponential}[schedule](n, low, high)
    first, later = noise_of(c, (batch, 4, c["height"] // 8, c["width"] // 8))
    whole = c["compat"] == "comfyui" and float(sigmas[0]) >= high * (1 - 1e-5)
    x = first * (torch.sqrt(1 + sigmas[0] ** 2) if whole else sigmas[0])
    name = {"ddim": "euler"}.get(c["sampler"], c["sampler"])
    kwargs = {}
    if name == "euler_ancestral":
        kwargs["noise_sampler"] = lambda *_: later()
    if "sde" in name:
        seed = c["seed"] if c["compat"] == "comfyui" else [c["seed"] + k for k in range(batch)]
        kwargs["noise_sampler"] = kd.sampling.BrownianTreeNoiseSampler(x, sigmas[sigmas > 0].min(), sigmas.max(), seed=seed)
    return getattr(kd.sampling, "sample_" + name)(denoise, x, sigmas, disable=True, **kwargs)


def guided(c, pipe):
    pipe.scheduler = diffusers.EulerDiscreteScheduler.from_config(pipe.scheduler.config)
    options, extra = c.get("options", {}), {}
    if c.get("method") == "pag":
        parts = {k: v for k, v in pipe.components.items() if k not in ("safety_checker", "feature_extractor", "image_encoder")}
        pipe = StableDiffusionPAGPipeline(**parts, safety_checker=None, feature_extractor=None, image_encoder=None, requires_safety_checker=False,
                                          pag_applied_layers=options.get("layers", "mid"))
        extra = dict(pag_scale=float(options["pag_scale"]), pag_adaptive_scale=options.get("adaptive", 0.0))
    n = c.get("batch", 1)
    generators = [torch.Generator().manual_seed(c["seed"] + k) for k in range(n)]
    return pipe(c["prompt"], negative_prompt=c["negative"], width=c["width"], height=c["height"], num_inference_steps=c["steps"], guidance_scale=c["guidance"],
                guidance_rescale=c.get("rescale", 0.0), num_images_per_prompt=n, generator=generators, output_type="latent", **extra).images


out = {}
for name, c in CASES.items():
    pipe = StableDiffusionPipeline.from_pretrained(HERE / c["checkpoint"], torch_dtype=torch.float32, safety_checker=None)
    with torch.no_grad():
        x = peer(c, pipe) if "compat" in c else guided(c, pipe)
    assert torch.isfinite(x).all(), name
    out[name] = x.float().contiguous()
    print(name, tuple(x.shape), float(x.std()))
versions = {"torch": torch.__version__, "diffusers": diffusers.__version__, "k-diffusion": "0.1.1", "torchsde": "0.2.6"}
(HERE / "peers.json").write_text(json.dumps({"versions": versions, "cases": CASES}, indent=1) + "\n")
save_file(out, HERE / "peers.safetensors")
