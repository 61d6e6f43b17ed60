"""Goldens of the whole pipeline: what diffusers' StableDiffusionPipeline draws from small checkpoints and from the demo model.

    OMP_NUM_THREADS=1 python make.py [checkpoints] [pictures] [NAME …]

needs diffusers 0.39.0, transformers 4.57.1 and torch (see tools/oracle-requirements.txt). It writes, beside itself,

    NAME/               a Stable Diffusion 1.x checkpoint as save_pretrained publishes it (weights from their names, see tools/name_weights.py)
    NAME.json           the cases: prompt, size, steps, sampler …, and the versions that drew them
    NAME.safetensors    per case the final latents [n, c, h, w] f32 and the picture [n, H, W, 3] u8

Everything is computed in f32 on one thread. `rounding` in NAME.json is the relative L2 distance between the f32 latents and the
same run in f64: what the arithmetic of the reference itself leaves open.
"""

import json
import os
import shutil
import sys
import warnings
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
warnings.filterwarnings("ignore")

import diffusers  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from diffusers import AutoencoderKL, StableDiffusionPipeline, UNet2DConditionModel  # noqa: E402
from diffusers.schedulers import scheduling_euler_ancestral_discrete as ancestral  # noqa: E402
from diffusers.utils.torch_utils import randn_tensor  # noqa: E402
from safetensors.torch import save_file  # noqa: E402
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
DEMO = ROOT / "assets/demo-model"
sys.path.insert(0, str(ROOT / "tools"))

import name_weights  # noqa: E402

torch.set_num_threads(1)
diffusers.utils.logging.set_verbosity_error()
diffusers.utils.logging.disable_progress_bar()
transformers.utils.logging.set_verbosity_error()

SD1_BETAS = dict(beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", num_train_timesteps=1000)

# Geometries that differ from Stable Diffusion 1.5 and from each other in everything that a config can say.
CHECKPOINTS = {
    # Three levels, one block each, SD 1.5's scheduler; float16.
    "pndm": dict(
        dtype=torch.float16,
        text=dict(hidden_size=24, intermediate_size=48, num_hidden_layers=2, num_attention_heads=3, hidden_act="quick_gelu"),
        unet=dict(block_out_channels=(8, 16, 24), layers_per_block=1, norm_num_groups=4, attention_head_dim=2, cross_attention_dim=24,
                  down_block_types=("CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"),
                  up_block_types=("UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D"), sample_size=8),
        vae=dict(block_out_channels=(4, 8, 8, 12), layers_per_block=1, norm_num_groups=2, latent_channels=4, scaling_factor=0.18215),
        scheduler=("PNDMScheduler", dict(**SD1_BETAS, skip_prk_steps=True, set_alpha_to_one=False, steps_offset=1)),
        # As Stable Diffusion 1.5 publishes it: keys of other classes stand there, keys that were invented later do not.
        scheduler_file=dict(also={"clip_sample": False}, without=("prediction_type", "timestep_spacing")),
    ),
    # Two levels, two blocks each, linear projections, heads per level, exact GELU, SD 2's "!" padding, v-prediction, trailing, zero terminal SNR; bfloat16.
    "ddim_v": dict(
        dtype=torch.bfloat16, pad_token="!",
        text=dict(hidden_size=20, intermediate_size=40, num_hidden_layers=3, num_attention_heads=5, hidden_act="gelu"),
        unet=dict(block_out_channels=(8, 12), layers_per_block=2, norm_num_groups=2, attention_head_dim=[2, 3], cross_attention_dim=20,
                  use_linear_projection=True, upcast_attention=True, down_block_types=("CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
                  up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D"), sample_size=[8, 12]),
        vae=dict(block_out_channels=(6, 6, 9, 9), layers_per_block=2, norm_num_groups=3, latent_channels=4, scaling_factor=0.5),
        scheduler=("DDIMScheduler", dict(**SD1_BETAS, clip_sample=False, set_alpha_to_one=True, steps_offset=0,
                                         prediction_type="v_prediction", timestep_spacing="trailing", rescale_betas_zero_snr=True)),
    ),
    # Four levels, a context of 40 tokens, other betas, no quant convolutions, no attention in the VAE; bfloat16.
    "euler": dict(
        dtype=torch.bfloat16, tokens=40,
        text=dict(hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=2, hidden_act="quick_gelu",
                  max_position_embeddings=40),
        unet=dict(block_out_channels=(4, 8, 8, 12), layers_per_block=1, norm_num_groups=2, attention_head_dim=2, cross_attention_dim=32,
                  sample_size=16, act_fn="gelu", norm_eps=1e-4, freq_shift=1, flip_sin_to_cos=False, center_input_sample=True),
        vae=dict(block_out_channels=(6, 6, 8), layers_per_block=1, norm_num_groups=2, latent_channels=4, scaling_factor=1.25,
                 use_quant_conv=False, use_post_quant_conv=False, mid_block_add_attention=False),
        scheduler=("EulerDiscreteScheduler", dict(beta_start=0.0001, beta_end=0.02, beta_schedule="linear", num_train_timesteps=500,
                                                  timestep_spacing="linspace", prediction_type="epsilon")),
    ),
    # Depth per level, a wider latent, x0-prediction, Karras sigmas stated in the config; float16.
    "dpmpp": dict(
        gain=0.3,
        dtype=torch.float16,
        text=dict(hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, hidden_act="gelu"),
        unet=dict(block_out_channels=(8, 8, 16), layers_per_block=(1, 2, 1), norm_num_groups=4, attention_head_dim=(1, 2, 4),
                  cross_attention_dim=16, in_channels=6, out_channels=6, transformer_layers_per_block=(1, 2, 1), sample_size=8,
                  down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
                  up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D")),
        vae=dict(block_out_channels=(4, 4, 8, 8), layers_per_block=1, norm_num_groups=2, latent_channels=6, scaling_factor=0.9),
        scheduler=("DPMSolverMultistepScheduler", dict(**SD1_BETAS, prediction_type="sample", use_karras_sigmas=True)),
    ),
    # Euler ancestral, two levels of which one attends, squared-cosine betas, v-prediction, leading without the offset; float32.
    "ancestral": dict(
        scheduler_file=dict(also={"steps_offset": 0}),  # written by hand: the pipeline that saves it has made it 1
        dtype=torch.float32,
        text=dict(hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=4, hidden_act="quick_gelu"),
        unet=dict(block_out_channels=(8, 8), layers_per_block=1, norm_num_groups=8, attention_head_dim=1, cross_attention_dim=16,
                  down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
                  sample_size=8),
        vae=dict(block_out_channels=(4, 4, 8, 8), layers_per_block=1, norm_num_groups=4, latent_channels=4, scaling_factor=0.3),
        scheduler=("EulerAncestralDiscreteScheduler", dict(beta_start=0.00085, beta_end=0.012, beta_schedule="squaredcos_cap_v2",
                                                           num_train_timesteps=1000, timestep_spacing="leading", steps_offset=0,
                                                           prediction_type="v_prediction")),
    ),
}

# The class that each of our samplers is in diffusers.
CLASSES = {
    "ddim": "DDIMScheduler",
    "euler": "EulerDiscreteScheduler",
    "euler_ancestral": "EulerAncestralDiscreteScheduler",
    "dpmpp_2m": "DPMSolverMultistepScheduler",
    "plms": "PNDMScheduler",
}

LONG = " ".join(f"a red house on green hills at sunset {i}" for i in range(40))  # far more than any context
UNICODE = "Ein rotes Haus, 赤い家 🏠 e\u0301t\u00e9 ﬁn \u201cquoted\u201d &amp; l'été!!"

SMALL = dict(width=64, height=64, steps=5, guidance=7.5, seed=1, prompt="a red house on green hills")
CALM = dict(SMALL, guidance=1.5)  # x0-prediction feeds the network its own answers: strong guidance makes that chaos, in f64 too
CASES = {
    "pndm": {
        "default": dict(SMALL),
        "empty_prompt": dict(SMALL, prompt=""),
        "unicode": dict(SMALL, prompt=UNICODE, seed=2),
        "long": dict(SMALL, prompt=LONG, negative=LONG[::-1], seed=3),
        "negative": dict(SMALL, negative="snow, night, rain"),
        "guidance_half": dict(SMALL, guidance=0.5, negative="ignored without guidance"),
        "guidance_one": dict(SMALL, guidance=1.0),
        "one_step": dict(SMALL, steps=1),
        "two_steps": dict(SMALL, steps=2),
        "twenty_steps": dict(SMALL, steps=20, seed=4294967297),  # seeds above 32 bits: the generator keeps the low half
        "wide": dict(SMALL, width=104, height=40, seed=5),  # latents 13 x 5: odd at every level
        "tall": dict(SMALL, width=24, height=88, seed=6),
        "tiny": dict(SMALL, width=8, height=16, seed=7),  # fewer than 16 noise values per image: the generator's other path
        "ddim": dict(SMALL, sampler="ddim"),
        "euler": dict(SMALL, sampler="euler"),
        "euler_karras": dict(SMALL, sampler="euler", schedule="karras"),
        "euler_ancestral": dict(SMALL, sampler="euler_ancestral"),
        "dpmpp_2m": dict(SMALL, sampler="dpmpp_2m"),
        "dpmpp_2m_karras": dict(SMALL, sampler="dpmpp_2m", schedule="karras", steps=12),
        "batch_of_singles": dict(SMALL, batch=3, sampler="euler_ancestral", seed=40),  # one generator per picture
        "batch_one_generator": dict(SMALL, batch=2, compat="diffusers", sampler="euler_ancestral", seed=41),
        "batch_tiny_one_generator": dict(SMALL, batch=3, compat="diffusers", width=16, height=8, seed=44),
    },
    "ddim_v": {
        "default": dict(SMALL, size_from_config=True),
        "exclamations": dict(SMALL, prompt="a red house!!! on ! green hills!"),
        "clip_skip": dict(SMALL, clip_skip=2, negative="night", compat="diffusers"),
        "twenty_steps": dict(SMALL, steps=20, negative="night"),
        "seven_steps": dict(SMALL, steps=7, width=72, height=48),
        "plms": dict(SMALL, sampler="plms"),
        "dpmpp_2m": dict(SMALL, sampler="dpmpp_2m"),
    },
    "euler": {
        "default": dict(SMALL, size_from_config=True),
        "long": dict(SMALL, prompt=LONG, seed=3),
        "twenty_steps": dict(SMALL, steps=20),
        "odd": dict(SMALL, width=72, height=56, seed=8),
        "ddim": dict(CALM, sampler="ddim"),
        "plms": dict(SMALL, sampler="plms", steps=9),
        "karras": dict(SMALL, schedule="karras", steps=8),
        "dpmpp_2m": dict(SMALL, sampler="dpmpp_2m"),
    },
    "dpmpp": {
        "default": dict(CALM),
        "twenty_steps": dict(CALM, steps=20),
        "one_step": dict(CALM, steps=1),
        "two_steps": dict(CALM, steps=2),
        "euler": dict(CALM, sampler="euler"),
        "ddim": dict(CALM, sampler="ddim"),
    },
    "ancestral": {
        "default": dict(SMALL),
        "twenty_steps": dict(SMALL, steps=20),
        "one_step": dict(SMALL, steps=1),
        "ddim": dict(SMALL, sampler="ddim"),
        "plms": dict(SMALL, sampler="plms"),
        "euler": dict(SMALL, sampler="euler", steps=9),
        "euler_karras": dict(SMALL, sampler="euler", schedule="karras"),
        "dpmpp_2m": dict(SMALL, sampler="dpmpp_2m"),
    },
    "demo": {
        "house": dict(width=128, height=128, steps=25, guidance=6, seed=0, sampler="dpmpp_2m", prompt="a red house on green hills at sunset, two pine trees"),
        "boat": dict(width=128, height=128, steps=10, guidance=7.5, seed=1, prompt="a white sailing boat at sea at night, the moon", negative="rain"),
        "cat": dict(width=128, height=96, steps=8, guidance=5, seed=2, sampler="euler_ancestral", prompt="black cat, city skyline, night, moon"),
        "balloon": dict(width=104, height=128, steps=8, guidance=5, seed=3, sampler="euler", schedule="karras", prompt="a blue hot-air balloon over the desert"),
        "lighthouse": dict(width=128, height=128, steps=6, guidance=5, seed=4, sampler="ddim", prompt="a lighthouse by the sea at dawn"),
    },
}


def make_checkpoint(name: str) -> None:
    spec, out = CHECKPOINTS[name], HERE / name
    shutil.rmtree(out, ignore_errors=True)
    vocabulary = json.loads((DEMO / "tokenizer/vocab.json").read_text())
    tokenizer = CLIPTokenizer(str(DEMO / "tokenizer/vocab.json"), str(DEMO / "tokenizer/merges.txt"), model_max_length=spec.get("tokens", 77),
                              pad_token=spec.get("pad_token", "<|endoftext|>"))
    start, end = len(vocabulary) - 2, len(vocabulary) - 1
    text = CLIPTextModel(CLIPTextConfig(vocab_size=len(vocabulary), bos_token_id=start, eos_token_id=end, pad_token_id=end, **spec["text"]))
    unet = UNet2DConditionModel(**spec["unet"])
    levels = len(spec["vae"]["block_out_channels"])
    vae = AutoencoderKL(down_block_types=("DownEncoderBlock2D",) * levels, up_block_types=("UpDecoderBlock2D",) * levels,
                        sample_size=64, **spec["vae"])
    for part in (text, unet, vae):
        name_weights.fill(part)
    with torch.no_grad():
        unet.conv_out.weight *= spec.get("gain", 1.0)
        # A decoder that stays within [-1, 1] keeps the picture's contrast.
        vae.decoder.conv_out.weight *= 0.4
    cls, scheduler = spec["scheduler"]
    pipe = StableDiffusionPipeline(vae=vae, text_encoder=text, tokenizer=tokenizer, unet=unet, scheduler=getattr(diffusers, cls)(**scheduler),
                                   safety_checker=None, feature_extractor=None, requires_safety_checker=False)
    pipe.to(dtype=spec["dtype"]).save_pretrained(out, safe_serialization=True)
    for path in out.glob("*/*config.json"):
        config = json.loads(path.read_text())
        config.pop("_name_or_path", None)
        if path.parent.name == "scheduler":
            edit = spec.get("scheduler_file", {})
            config = {k: v for k, v in config.items() if k not in edit.get("without", ())} | edit.get("also", {})
        path.write_text(json.dumps(config, indent=2) + "\n")
    print(name, sum(p.stat().st_size for p in out.rglob("*") if p.is_file()), "bytes")


def with_sampler(scheduler, case):
    """Another class from the same configuration, as diffusers' users do it."""
    if "sampler" not in case and "schedule" not in case:
        return scheduler
    cls = getattr(diffusers, CLASSES[case["sampler"]]) if "sampler" in case else type(scheduler)
    extra = {"use_karras_sigmas": True} if case.get("schedule") == "karras" else {}
    if case.get("sampler") == "plms":
        extra["skip_prk_steps"] = True  # the class's default is another sampler, with Runge-Kutta steps first
    return cls.from_config(scheduler.config, **extra)


def draw(folder: Path, case, dtype=torch.float32):
    # The pipeline's constructor sets steps_offset = 1 and clip_sample = False in the checkpoint's own scheduler.
    pipe = StableDiffusionPipeline.from_pretrained(folder, torch_dtype=torch.float32, safety_checker=None)
    pipe.set_progress_bar_config(disable=True)
    scheduler = pipe.scheduler = with_sampler(pipe.scheduler, case)
    batch, seed = case.get("batch", 1), case["seed"]
    if case.get("compat") == "diffusers":
        generator = torch.Generator().manual_seed(seed)
    else:
        generator = [torch.Generator().manual_seed(seed + k) for k in range(batch)]
    factor = pipe.vae_scale_factor
    channels = pipe.unet.config.in_channels
    size = {} if case.get("size_from_config") else dict(width=case["width"], height=case["height"])
    prompt = dict(prompt=[case["prompt"]] * batch, negative_prompt=[case["negative"]] * batch if "negative" in case else None)
    if "clip_skip" in case:
        prompt["clip_skip"] = case["clip_skip"] - 1
    if dtype == torch.float64:  # noise as in f32 (the generator would draw other values), text as in f32 (its mask has no f64 form)
        height, width = (case["height"], case["width"]) if size else default_size(pipe)
        shape = (batch, channels, height // factor, width // factor)
        noise = randn_tensor(shape, generator=generator, dtype=torch.float32)
        size["latents"] = noise.double()
        positive, negative = pipe.to(torch.float32).encode_prompt(**prompt, device="cpu", num_images_per_prompt=1,
                                                                  do_classifier_free_guidance=True)
        prompt = dict(prompt_embeds=positive.double(), negative_prompt_embeds=negative.double())
        pipe = StableDiffusionPipeline.from_pretrained(folder, torch_dtype=dtype, safety_checker=None, text_encoder=None)
        pipe.scheduler = scheduler
        pipe.set_progress_bar_config(disable=True)
    latents = pipe(**prompt, num_inference_steps=case["steps"], guidance_scale=case["guidance"], generator=generator, output_type="latent",
                   **size).images
    with torch.no_grad():
        decoded = pipe.vae.decode(latents / pipe.vae.config.scaling_factor, return_dict=False)[0]
    picture = pipe.image_processor.postprocess(decoded, output_type="np")
    return latents, torch.from_numpy((picture * 255).round().astype(np.uint8)), decoded


def default_size(pipe):
    size = pipe.unet.config.sample_size
    height, width = (size, size) if isinstance(size, int) else size
    return height * pipe.vae_scale_factor, width * pipe.vae_scale_factor


def make_pictures(name: str) -> None:
    folder = DEMO if name == "demo" else HERE / name
    tensors, cases = {}, {}
    for label, case in CASES[name].items():
        latents, picture, decoded = draw(folder, case)
        record = {k: v for k, v in case.items() if k != "size_from_config"}
        if case.get("size_from_config"):
            record["height"], record["width"] = picture.shape[1:3]
            record["size_from_config"] = True
        exact = draw(folder, case, torch.float64)[0]
        record["rounding"] = float(f"{float((latents - exact).norm() / exact.norm()):.1e}")
        tensors[f"{label}.latents"] = latents.contiguous()
        tensors[f"{label}.image"] = picture.contiguous()
        cases[label] = record
        first = tensors[f"{next(iter(CASES[name]))}.latents"]
        away = f", from the first case {(latents - first).norm() / first.norm():.1e}" if latents.shape == first.shape else ""
        print(f"{name}.{label}: latents {tuple(latents.shape)} rms {latents.square().mean().sqrt():.3g}, decoded std {decoded.std():.3g} "
              f"clipped {(decoded.abs() > 1).float().mean():.2g}, rounding {record['rounding']:.1e}{away}", flush=True)
    versions = dict(torch=torch.__version__, diffusers=diffusers.__version__, transformers=transformers.__version__)
    save_file(tensors, HERE / f"{name}.safetensors", metadata={"made by": "tests/e2e/golden/make.py", **versions})
    (HERE / f"{name}.json").write_text(json.dumps(dict(versions=versions, cases=cases), indent=1, ensure_ascii=True) + "\n")


def noise_as_in_f32(shape, dtype=None, **options):
    return randn_tensor(shape, dtype=torch.float32, **options).to(dtype)


def main() -> None:
    ancestral.randn_tensor = noise_as_in_f32  # the noise between steps: in f64 the generator would draw other values
    words = sys.argv[1:]
    names = [w for w in words if w in CASES] or list(CASES)
    what = [w for w in words if w in ("checkpoints", "pictures")] or ["checkpoints", "pictures"]
    for name in names:
        if "checkpoints" in what and name in CHECKPOINTS:
            make_checkpoint(name)
        if "pictures" in what:
            make_pictures(name)


if __name__ == "__main__":
    main()
