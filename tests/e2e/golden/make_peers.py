"""Goldens of other programs' conventions and of guidance: final latents from the small checkpoints that make.py wrote.

    OMP_NUM_THREADS=1 python make_peers.py [COMFYUI]

needs k-diffusion 0.1.1, torchsde 0.2.6, diffusers, transformers and torch, and for comfy_uni_pc and comfy_uni_pc_bh2 a checkout of ComfyUI
(November 2025; comfy/extra_samplers/uni_pc.py is run); without one these two stay what they are. Writes peers.json (the cases) and
peers.safetensors (per case the final latents [n, c, h, w] f32). ComfyUI and A1111 are what their samplers are made of: k-diffusion's
samplers and denoisers around diffusers' UNet, the noise, levels and start as ../../../docs/samplers.md tells them, and what a1111.py says
of A1111's own samplers.
"""

import importlib.util
import json
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
import torch  # noqa: E402
from diffusers import StableDiffusionPAGPipeline, StableDiffusionPipeline  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import a1111  # noqa: E402

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
    **{f"comfy_{s}": dict(BASE, checkpoint="pndm", compat="comfyui", sampler=s, schedule="karras", steps=4, batch=b)
       for s, b in (("dpmpp_sde", 2), ("dpmpp_2m_sde", 2), ("dpmpp_2m_sde_heun", 1), ("dpmpp_3m_sde", 2))},
    **{f"a1111_{s}": dict(BASE, checkpoint="pndm", compat="a1111", sampler=s, schedule="karras", steps=4, batch=b, drops=int("3m" in s))
       for s, b in (("dpmpp_sde", 2), ("dpmpp_2m_sde", 2), ("dpmpp_2m_sde_heun", 1), ("dpmpp_3m_sde", 2))},
    "comfy_sde_v": dict(BASE, checkpoint="ddim_v", compat="comfyui", sampler="dpmpp_2m_sde", schedule="exponential", steps=4),
    "a1111_sde_own_schedule": dict(BASE, checkpoint="pndm", compat="a1111", sampler="dpmpp_2m_sde", steps=4, levels="exponential"),
    "comfy_dpm_2_drops": dict(BASE, checkpoint="pndm", compat="comfyui", sampler="dpm_2", schedule="karras", steps=4, drops=1),
    "a1111_dpm_2_ancestral_drops": dict(BASE, checkpoint="pndm", compat="a1111", sampler="dpm_2_ancestral", schedule="karras", steps=4, drops=1, batch=2),
    "comfy_lms": dict(BASE, checkpoint="pndm", compat="comfyui", sampler="lms", schedule="karras", last="denoised"),
    "a1111_lms": dict(BASE, checkpoint="pndm", compat="a1111", sampler="lms", schedule="karras"),
    "comfy_heun": dict(BASE, checkpoint="pndm", compat="comfyui", sampler="heun", schedule="karras", steps=3),
    "comfy_2s_ancestral": dict(BASE, checkpoint="pndm", compat="comfyui", sampler="dpmpp_2s_ancestral", schedule="karras", steps=3),
    "comfy_karras_rho": dict(BASE, checkpoint="pndm", compat="comfyui", sampler="euler", schedule="karras", schedule_options={"rho": 4, "sigma_max": 12}),
    "a1111_karras_rho": dict(BASE, checkpoint="pndm", compat="a1111", sampler="dpmpp_2m", schedule="karras", schedule_options={"rho": 4, "sigma_min": 0.1}),
    "comfy_sigmas": dict(BASE, checkpoint="pndm", compat="comfyui", sampler="dpm_2", sigmas=[14.6146412, 7, 2.5, 0.6, 0], steps=4),
    "a1111_sigmas": dict(BASE, checkpoint="pndm", compat="a1111", sampler="euler_ancestral", sigmas=[13, 7, 2.5, 0.6, 0], steps=4),
    "a1111_ddim": dict(BASE, checkpoint="pndm", compat="a1111", sampler="ddim", steps=6, batch=2),
    "a1111_ddim_v": dict(BASE, checkpoint="ddim_v", compat="a1111", sampler="ddim", steps=5),
    "a1111_plms": dict(BASE, checkpoint="pndm", compat="a1111", sampler="plms", steps=7),
    "a1111_uni_pc": dict(BASE, checkpoint="pndm", compat="a1111", sampler="uni_pc", steps=5),
    "a1111_uni_pc_bh2": dict(BASE, checkpoint="pndm", compat="a1111", sampler="uni_pc_bh2", steps=6),
    "a1111_ddim_eta": dict(BASE, checkpoint="pndm", compat="a1111", sampler="ddim", steps=5, batch=2, sampler_options={"eta": "0.7"}),
    "a1111_ddim_cfg_pp": dict(BASE, checkpoint="pndm", compat="a1111", sampler="ddim_cfg_pp", steps=6, batch=2),
    "a1111_lcm": dict(BASE, checkpoint="pndm", compat="a1111", sampler="lcm", steps=4, guidance=1.5, batch=2),
    "a1111_lcm_karras": dict(BASE, checkpoint="pndm", compat="a1111", sampler="lcm", steps=6, guidance=1.0, schedule="karras"),
    "a1111_dpm_fast": dict(BASE, checkpoint="pndm", compat="a1111", sampler="dpm_fast", steps=8, batch=2, ensd=31337),
    "a1111_dpm_fast_ddim_uniform": dict(BASE, checkpoint="pndm", compat="a1111", sampler="dpm_fast", steps=6, schedule="ddim_uniform"),
    # Its step control amplifies rounding: a millionth more of the noise moves this result by 7e-5, those of other seeds by 1e-2.
    "a1111_dpm_adaptive": dict(BASE, checkpoint="pndm", compat="a1111", sampler="dpm_adaptive", steps=5, guidance=1.0, seed=10, limit=1e-3),
    "a1111_cpu": dict(BASE, checkpoint="pndm", compat="a1111", sampler="euler_ancestral", batch=2, rng="cpu"),
    "a1111_cpu_ensd": dict(BASE, checkpoint="pndm", compat="a1111", sampler="euler_ancestral", batch=2, rng="cpu", ensd=31337),
    "a1111_cpu_sde": dict(BASE, checkpoint="pndm", compat="a1111", sampler="dpmpp_2m_sde", schedule="karras", steps=4, batch=2, rng="cpu"),
    "a1111_discards": dict(BASE, checkpoint="pndm", compat="a1111", sampler="dpmpp_2m", schedule="karras", discard=True, drops=1),
    "a1111_discards_ddim": dict(BASE, checkpoint="pndm", compat="a1111", sampler="ddim", discard=True, drops=1),
    "a1111_guidance_below_1": dict(BASE, checkpoint="pndm", compat="a1111", sampler="euler", guidance=0.4),
    "comfy_guidance_below_1": dict(BASE, checkpoint="pndm", compat="comfyui", sampler="euler", guidance=-0.5),
    "comfy_uni_pc": dict(BASE, checkpoint="pndm", compat="comfyui", sampler="uni_pc", steps=5, schedule="karras", drops=1),
    "comfy_uni_pc_bh2": dict(BASE, checkpoint="pndm", compat="comfyui", sampler="uni_pc_bh2", steps=4, schedule="karras", drops=1),
    "rescale": dict(BASE, checkpoint="pndm", sampler="euler", rescale=0.7),
    "pag": dict(BASE, checkpoint="pndm", sampler="euler", method="pag", options={"pag_scale": 3}, batch=2),
    "pag_adaptive_down": dict(BASE, checkpoint="pndm", sampler="euler", method="pag", options={"pag_scale": 4, "adaptive": 0.005, "layers": "down"}),
    "pag_alone": dict(BASE, checkpoint="pndm", sampler="euler", guidance=1.0, negative="", method="pag", options={"pag_scale": 2}),
}


def noise_of(c, shape):
    """First noise, and a function that gives the noise of the steps."""
    if c["compat"] == "a1111":
        return a1111.draws(c["seed"], shape, c.get("rng", "nv"), c.get("ensd", 0))
    g, later = torch.Generator().manual_seed(c["seed"]), torch.Generator().manual_seed(c["seed"] + 1)
    return torch.randn(shape, generator=g), lambda: torch.randn(shape, generator=later)


def peer(c, pipe):
    unet, batch = pipe.unet, c.get("batch", 1)
    prompt, negative = pipe.encode_prompt(c["prompt"], "cpu", batch, True, c["negative"])
    context = torch.cat([negative, prompt])

    def answer(x, t):
        return unet(torch.cat([x, x]), torch.cat([t, t]), encoder_hidden_states=context).sample.chunk(2)

    v = pipe.scheduler.config.prediction_type == "v_prediction"
    base = kd.external.DiscreteVDDPMDenoiser if v else kd.external.DiscreteEpsDDPMDenoiser

    class Denoiser(base):
        def get_eps(self, x, t, **_):
            return a1111.guided(answer(x, t), c["guidance"])

        get_v = get_eps

    euler = diffusers.EulerDiscreteScheduler.from_config(pipe.scheduler.config)
    if c["compat"] == "a1111" and c["sampler"] in ("ddim", "ddim_cfg_pp", "plms", "uni_pc", "uni_pc_bh2"):
        return by_time(c, euler.alphas_cumprod.double(), answer, v)
    denoise = Denoiser(None, euler.alphas_cumprod.float(), quantize=c["compat"] == "comfyui")
    lcm = a1111.Lcm(euler.alphas_cumprod) if c["compat"] == "a1111" and c["sampler"] == "lcm" else None
    if lcm:
        denoise.sigmas = lcm.sigmas
    n, low, high = c["steps"] + c.get("drops", 0), float(denoise.sigmas[0]), float(denoise.sigmas[-1])
    options = c.get("schedule_options", {})
    low, high = options.get("sigma_min", low), options.get("sigma_max", high)
    schedule = c.get("levels", c.get("schedule", "normal"))
    if "sigmas" in c:
        sigmas = torch.tensor(c["sigmas"])
    elif lcm and schedule == "normal":
        sigmas = lcm.levels(n)
    elif schedule == "normal":
        t = torch.linspace(len(denoise.sigmas) - 1, 0, n)
        sigmas = torch.cat([torch.exp((1 - t.frac()) * denoise.log_sigmas[t.floor().long()] + t.frac() * denoise.log_sigmas[t.ceil().long()]), torch.zeros(1)])
    elif schedule == "ddim_uniform":
        step = max(len(denoise.sigmas) // n, 1)
        sigmas = torch.cat([denoise.sigmas[1::step].flip(0), torch.zeros(1)])
    else:
        sigmas = {"karras": kd.sampling.get_sigmas_karras, "exponential": kd.sampling.get_sigmas_exponential}[schedule](
            n, low, high, *([options["rho"]] if "rho" in options else [])
        )
    if c.get("drops"):
        sigmas = torch.cat([sigmas[:-2], sigmas[-1:]])
    low, high = float(denoise.sigmas[0]), float(denoise.sigmas[-1])
    first, later = noise_of(c, (batch, 4, c["height"] // 8, c["width"] // 8))
    whole = c["compat"] == "comfyui" and float(sigmas[0]) >= high * (1 - 1e-5)
    x = first * (torch.sqrt(1 + sigmas[0] ** 2) if whole else sigmas[0])
    if lcm:
        return lcm.run(answer, x, sigmas, c["guidance"], later)
    name = {"ddim": "euler", "dpmpp_2m_sde_heun": "dpmpp_2m_sde"}.get(c["sampler"], c["sampler"])
    kwargs = {"solver_type": "heun"} if c["sampler"].endswith("sde_heun") else {}
    if "ancestral" in name:
        kwargs["noise_sampler"] = lambda *_: later()
    if name.startswith("uni_pc"):
        return uni_pc_of_comfyui().sample_unipc(denoise, x, sigmas, extra_args={}, disable=True, variant=name[7:] or "bh1")
    if "sde" in name:
        comfy = c["compat"] == "comfyui"
        a1111.take_normals_of_trees("cpu" if comfy else c.get("rng", "nv"))
        seed = c["seed"] if comfy else [c["seed"] + k for k in range(batch)]
        kwargs["noise_sampler"] = kd.sampling.BrownianTreeNoiseSampler(x, sigmas[sigmas > 0].min(), sigmas.max(), seed=seed)
    if name in ("dpm_fast", "dpm_adaptive"):  # between the model's own ends, with all the noise of ancestral steps
        n = {"n": c["steps"]} if name == "dpm_fast" else {}
        return getattr(kd.sampling, "sample_" + name)(denoise, x, low, high, **n, disable=True, eta=1.0, noise_sampler=lambda *_: later())
    seen = {}
    x = getattr(kd.sampling, "sample_" + name)(denoise, x, sigmas, disable=True, callback=seen.update, **kwargs)
    return seen["denoised"] if c.get("last") == "denoised" else x


def uni_pc_of_comfyui():
    spec = importlib.util.spec_from_file_location("uni_pc", Path(sys.argv[1]) / "comfy/extra_samplers/uni_pc.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def by_time(c, bars, answer, v):
    """A1111's DDIM, DDIM CFG++, PLMS and UniPC."""
    x, later = noise_of(c, (c.get("batch", 1), 4, c["height"] // 8, c["width"] // 8))
    times = a1111.timesteps(c["steps"] + c.get("drops", 0))
    if c["sampler"].startswith("uni_pc"):
        assert not v
        return a1111.uni_pc(answer, x, len(times), bars, c["guidance"], variant=c["sampler"][7:] or "bh1")
    eta = float(c.get("sampler_options", {}).get("eta", 0))
    return a1111.by_times(c["sampler"], answer, x, times, bars, c["guidance"], v, eta, later)


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


out, known = {}, load_file(HERE / "peers.safetensors") if (HERE / "peers.safetensors").exists() else {}
for name, c in CASES.items():
    if c["sampler"].startswith("uni_pc") and c.get("compat") == "comfyui" and len(sys.argv) < 2:
        out[name] = known[name]
        continue
    pipe = StableDiffusionPipeline.from_pretrained(HERE / c["checkpoint"], torch_dtype=torch.float32, safety_checker=None)
    with torch.no_grad():
        x = peer(c, pipe) if "compat" in c else guided(c, pipe)
    assert torch.isfinite(x).all(), name
    out[name] = x.float().contiguous()
    moved = float((x - known[name]).abs().max() / known[name].abs().max()) if name in known and known[name].shape == x.shape else "new"
    print(name, tuple(x.shape), float(x.std()), moved)
versions = {"torch": torch.__version__, "diffusers": diffusers.__version__, "k-diffusion": "0.1.1", "torchsde": "0.2.6"}
(HERE / "peers.json").write_text(json.dumps({"versions": versions, "cases": CASES}, indent=1) + "\n")
save_file(out, HERE / "peers.safetensors")
