"""Goldens of PixArt: what diffusers' PixArtAlphaPipeline and PixArtSigmaPipeline draw from small checkpoints.

    OMP_NUM_THREADS=1 python make_pixart.py [checkpoints] [pictures] [NAME …]

needs sentencepiece and protobuf too. The files are those of make.py, which says more; weights are a function of their names. clean_caption is off:
the reference turns it off itself where bs4 or ftfy are missing.
"""

import json
import shutil
import sys

import make as base
import make_sd3
import torch
from diffusers import AutoencoderKL, DPMSolverMultistepScheduler, PixArtAlphaPipeline, PixArtSigmaPipeline, PixArtTransformer2DModel
from diffusers.schedulers import scheduling_lcm
from diffusers.utils.torch_utils import randn_tensor
from safetensors.torch import save_file
from transformers import T5Config, T5EncoderModel, T5TokenizerFast

import diffusers
import transformers

HERE, name_weights = base.HERE, base.name_weights
base.CLASSES |= {"lcm": "LCMScheduler"}
LEVELS = 4
VAE = dict(block_out_channels=(4, 4, 8, 8), layers_per_block=1, norm_num_groups=2, latent_channels=4)
T5 = dict(d_model=20, d_kv=8, d_ff=32, num_layers=2, num_heads=3, feed_forward_proj="gated-gelu")
BETAS = dict(beta_start=0.0001, beta_end=0.02, beta_schedule="linear")

CHECKPOINTS = {
    # As α at 1024 pixels: the image's size is an input; float16; the class that published folders state.
    "pixart_alpha": dict(
        pipeline=PixArtAlphaPipeline, dtype=torch.float16, scaling=0.18215,
        transformer=dict(sample_size=128, num_layers=2, attention_head_dim=12, num_attention_heads=2, cross_attention_dim=24, caption_channels=20),
    ),
    # As Σ: no size; bfloat16; images of 256 pixels.
    "pixart_sigma": dict(
        pipeline=PixArtSigmaPipeline, dtype=torch.bfloat16, scaling=0.13025,
        transformer=dict(sample_size=32, num_layers=3, attention_head_dim=8, num_attention_heads=2, cross_attention_dim=16, caption_channels=20,
                         interpolation_scale=0.5, use_additional_conditions=False),
    ),
}

scheduling_lcm.randn_tensor = base.noise_as_in_f32

SMALL = dict(width=64, height=64, steps=5, guidance=4.5, seed=1, prompt="a red house on green hills", no_binning=True)
BINNED = {key: value for key, value in SMALL.items() if key != "no_binning"}
CASES = {
    "pixart_alpha": {
        "default": dict(SMALL),
        "negative": dict(SMALL, negative="Snow, NIGHT, rain ", width=80, height=48),
        "upper_case": dict(SMALL, prompt="  A Red House, ON Green Hills Σ\n", seed=2),
        "long": dict(SMALL, prompt=base.LONG, negative=base.LONG[::-1], seed=3),
        "short_sequence": dict(SMALL, max_sequence_length=7, negative="rain"),
        "empty_prompt": dict(SMALL, prompt=""),
        "no_guidance": dict(SMALL, guidance=1.0, negative="not used"),
        "wide": dict(SMALL, width=144, height=32, seed=5),
        "one_step": dict(SMALL, steps=1, sampler="euler"),  # where the reference takes the estimate, which its DPM++ does not return
        "two_steps": dict(SMALL, steps=2),
        "twenty_steps": dict(SMALL, steps=20, seed=9, width=48, height=112),
        "euler": dict(SMALL, sampler="euler"),
        "batch": dict(SMALL, batch=2, seed=40),
        "batch_one_generator": dict(SMALL, batch=2, compat="diffusers", seed=41),
        "lcm": dict(SMALL, steps=4, sampler="lcm", guidance=1.0),
        "dmd": dict(SMALL, steps=1, guidance=1.0, timestep=400),  # one step of DMD
        "binned": dict(BINNED, width=50, height=39, steps=1, sampler="euler", guidance=1.0),  # made in 896×1152
    },
    "pixart_sigma": {
        "default": dict(BINNED, steps=2, size_from_config=True),
        "binned_wide": dict(BINNED, width=500, height=290, steps=2, negative="fog"),  # made in 336×192
        "binned_tall": dict(BINNED, width=101, height=300, steps=2),
        "negative": dict(SMALL, negative="snow, night, rain", width=80, height=48),
        "long": dict(SMALL, prompt=base.LONG * 4, negative=base.LONG[::-1], seed=3),
        "karras": dict(SMALL, schedule="karras"),
    },
}


def make_checkpoint(name):
    spec, out = CHECKPOINTS[name], HERE / name
    shutil.rmtree(out, ignore_errors=True)
    spiece = HERE / "spiece.model"
    spiece.write_bytes(make_sd3.pieces())
    tokenizer = T5TokenizerFast(str(spiece), extra_ids=4, model_max_length=512)
    spiece.unlink()
    parts = dict(text_encoder=T5EncoderModel(T5Config(vocab_size=len(tokenizer) + 8, **T5)), transformer=PixArtTransformer2DModel(**spec["transformer"]),
                 vae=AutoencoderKL(down_block_types=("DownEncoderBlock2D",) * LEVELS, up_block_types=("UpDecoderBlock2D",) * LEVELS, sample_size=64,
                                   scaling_factor=spec["scaling"], **VAE))
    for part in parts.values():
        name_weights.fill(part.float())
    with torch.no_grad():
        parts["vae"].decoder.conv_out.weight.mul_(0.4)
    pipe = spec["pipeline"](tokenizer=tokenizer, scheduler=DPMSolverMultistepScheduler(**BETAS), **parts)
    pipe.to(dtype=spec["dtype"]).save_pretrained(out, safe_serialization=True)
    for path in out.glob("*/*config.json"):
        config = json.loads(path.read_text())
        config.pop("_name_or_path", None)
        path.write_text(json.dumps(config, indent=2) + "\n")
    if name == "pixart_alpha":
        index, config = out / "model_index.json", out / "transformer/config.json"
        index.write_text(index.read_text().replace("PixArtTransformer2DModel", "Transformer2DModel"))
        config.write_text(config.read_text().replace("PixArtTransformer2DModel", "Transformer2DModel"))
    print(name, sum(p.stat().st_size for p in out.rglob("*") if p.is_file()), "bytes")


def opened(name, case, dtype):
    pipe = CHECKPOINTS[name]["pipeline"].from_pretrained(HERE / name, torch_dtype=dtype)
    pipe.set_progress_bar_config(disable=True)
    pipe.scheduler = make_sd3.with_sampler(pipe.scheduler, case)
    if "timestep" in case:  # DPM++ takes no timesteps
        pipe.scheduler = diffusers.DDPMScheduler.from_config(pipe.scheduler.config, clip_sample=False)
    return pipe


def prompts_of(pipe, case, batch, rows):
    """The prompts, encoded in f32."""
    with torch.no_grad():
        values = pipe.encode_prompt([case["prompt"]] * batch, case["guidance"] > 1, [case.get("negative", "")] * batch, clean_caption=False,
                                    max_sequence_length=case.get("max_sequence_length", rows))
    names = ("prompt_embeds", "prompt_attention_mask", "negative_prompt_embeds", "negative_prompt_attention_mask")
    return {name: value for name, value in zip(names, values) if value is not None}


def draw(name, case, dtype=torch.float32):
    batch = case.get("batch", 1)
    pipe = opened(name, case, torch.float32)
    told = prompts_of(pipe, case, batch, 120 if name == "pixart_alpha" else 300)
    if dtype != torch.float32:
        told = {key: value.to(dtype) if "embeds" in key else value for key, value in told.items()}
        pipe.transformer.to(dtype), pipe.vae.to(dtype)
        pipe.text_encoder = None  # its type would be that of the prompts
    generator = make_sd3.generators(case, batch)
    side = pipe.transformer.config.sample_size * pipe.vae_scale_factor
    size = {} if case.get("size_from_config") else dict(width=case["width"], height=case["height"])
    made = size or dict(width=side, height=side)
    if not case.get("no_binning"):
        module = sys.modules[type(pipe).__module__]
        table = {128: module.ASPECT_RATIO_1024_BIN, 32: module.ASPECT_RATIO_256_BIN}[pipe.transformer.config.sample_size]
        made = dict(zip(("height", "width"), pipe.image_processor.classify_height_width_bin(made["height"], made["width"], ratios=table)))
    noise = randn_tensor((batch, 4, made["height"] // 8, made["width"] // 8), generator=generator, dtype=torch.float32)
    with torch.no_grad():
        latents = pipe(prompt=None, negative_prompt=None, latents=noise.to(dtype), **told, num_inference_steps=case["steps"],
                       guidance_scale=case["guidance"], generator=generator, output_type="latent", use_resolution_binning=not case.get("no_binning"),
                       **(dict(timesteps=[case["timestep"]]) if "timestep" in case else {}), **size).images
    return latents, pipe, size or dict(width=side, height=side)


def make_pictures(name):
    tensors, cases = {}, {}
    for label, case in CASES[name].items():
        latents, pipe, size = draw(name, case)
        exact, _, _ = draw(name, case, torch.float64)
        rounding = float((latents - exact).norm() / exact.norm())
        with torch.no_grad():
            decoded = pipe.vae.decode(latents / pipe.vae.config.scaling_factor, return_dict=False)[0]
        if not case.get("no_binning"):
            decoded = pipe.image_processor.resize_and_crop_tensor(decoded, size["width"], size["height"])
        picture = pipe.image_processor.postprocess(decoded, output_type="np")
        picture = torch.from_numpy((picture * 255).round().astype(base.np.uint8))
        record = {k: v for k, v in case.items() if k != "size_from_config"} | {"height": picture.shape[1], "width": picture.shape[2]}
        if case.get("size_from_config"):
            record["size_from_config"] = True
        if "timestep" in case:
            alpha = float(pipe.scheduler.alphas_cumprod[case["timestep"]])
            record["sigmas"] = [((1 - alpha) / alpha) ** 0.5, 0.0]
        record["rounding"] = float(f"{rounding:.1e}")
        tensors[f"{label}.latents"], tensors[f"{label}.image"] = latents.contiguous(), picture.contiguous()
        cases[label] = record
        first = tensors[f"{next(iter(CASES[name]))}.latents"]
        away = f", from the first case {(latents - first).norm() / first.norm():.1e}" if latents.shape == first.shape else ""
        print(f"{name}.{label}: latents {tuple(latents.shape)} rms {latents.square().mean().sqrt():.3g}, decoded std {decoded.std():.3g} "
              f"clipped {(decoded.abs() > 1).float().mean():.2g}, rounding {record['rounding']:.1e}{away}", flush=True)
    versions = dict(torch=torch.__version__, diffusers=diffusers.__version__, transformers=transformers.__version__)
    save_file(tensors, HERE / f"{name}.safetensors", metadata={"made by": "tests/e2e/golden/make_pixart.py", **versions})
    (HERE / f"{name}.json").write_text(json.dumps(dict(versions=versions, cases=cases), indent=1, ensure_ascii=True) + "\n")


def main():
    words = sys.argv[1:]
    names = [w for w in words if w in CASES] or list(CASES)
    what = [w for w in words if w in ("checkpoints", "pictures")] or ["checkpoints", "pictures"]
    for name in names:
        if "checkpoints" in what:
            make_checkpoint(name)
        if "pictures" in what:
            make_pictures(name)


if __name__ == "__main__":
    main()
