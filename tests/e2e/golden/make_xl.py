"""Goldens of Stable Diffusion XL: what diffusers' StableDiffusionXLPipeline and its img2img form (the refiner) draw from small checkpoints.

    OMP_NUM_THREADS=1 python make_xl.py [checkpoints] [pictures] [NAME …]

The files are those of make.py, which says more; weights are a function of their names. The refiner draws from latents that the base leaves
(`hand_off`), and from noise alone (`alone`).
"""

import json
import shutil
import sys

import make as base
import torch
from diffusers import AutoencoderKL, StableDiffusionXLImg2ImgPipeline, StableDiffusionXLPipeline, UNet2DConditionModel
from diffusers.utils.torch_utils import randn_tensor
from safetensors.torch import save_file
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection, CLIPTokenizer

import diffusers
import transformers

HERE, DEMO, name_weights = base.HERE, base.DEMO, base.name_weights

VAE = dict(block_out_channels=(4, 8, 8, 8), layers_per_block=1, norm_num_groups=2, latent_channels=4, scaling_factor=0.13025, force_upcast=True)
TEXT_2 = dict(hidden_size=20, intermediate_size=40, num_hidden_layers=3, num_attention_heads=5, hidden_act="gelu", projection_dim=14)
EULER = ("EulerDiscreteScheduler", dict(**base.SD1_BETAS, timestep_spacing="leading", steps_offset=1, prediction_type="epsilon", interpolation_type="linear"))

CHECKPOINTS = {
    # As Stable Diffusion XL 1.0: three levels, the first without attention; float16.
    "xl": dict(
        dtype=torch.float16, zeros=True,
        text=dict(hidden_size=12, intermediate_size=24, num_hidden_layers=3, num_attention_heads=3, hidden_act="quick_gelu"),
        text_2=TEXT_2,
        unet=dict(block_out_channels=(8, 16, 16), layers_per_block=1, norm_num_groups=4, attention_head_dim=(1, 2, 4), cross_attention_dim=32,
                  transformer_layers_per_block=(1, 1, 2), use_linear_projection=True, addition_embed_type="text_time", addition_time_embed_dim=6,
                  projection_class_embeddings_input_dim=50, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
                  up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"), sample_size=8),
        scheduler=EULER,
    ),
    # Pruned and distilled: no attention in the middle, depths per block, a guidance scale's embedding, LCM's scheduler, no zeros; bfloat16.
    "xl_lcm": dict(
        dtype=torch.bfloat16, zeros=False,
        text=dict(hidden_size=8, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2, hidden_act="quick_gelu"),
        text_2=dict(TEXT_2, num_hidden_layers=4),
        unet=dict(block_out_channels=(8, 8, 16), layers_per_block=2, norm_num_groups=4, attention_head_dim=(2, 2, 4), cross_attention_dim=28,
                  transformer_layers_per_block=(0, (1, 2), (1, 1)), reverse_transformer_layers_per_block=((1, 1, 2), (1, 1, 1), 0),
                  mid_block_type="UNetMidBlock2D", use_linear_projection=True, addition_embed_type="text_time", addition_time_embed_dim=4,
                  projection_class_embeddings_input_dim=38, time_cond_proj_dim=10,
                  down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
                  up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"), sample_size=8),
        scheduler=("LCMScheduler", dict(**base.SD1_BETAS, clip_sample=False, set_alpha_to_one=True, steps_offset=1, timestep_spacing="leading",
                                        prediction_type="epsilon", original_inference_steps=50)),
    ),
    # v-prediction to zero signal, steps from the end: what fine-tunes with zero terminal SNR state; float32. The reference loses digits in f32
    # there (it starts at sigma 4096), so the latents are those of its run in f64.
    "xl_v": dict(
        dtype=torch.float32, zeros=True, exact=True,
        text=dict(hidden_size=12, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2, hidden_act="quick_gelu"),
        text_2=TEXT_2,
        unet=dict(block_out_channels=(8, 8), layers_per_block=1, norm_num_groups=4, attention_head_dim=(2, 4), cross_attention_dim=32,
                  transformer_layers_per_block=(1, 2), use_linear_projection=True, addition_embed_type="text_time", addition_time_embed_dim=8,
                  projection_class_embeddings_input_dim=62, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
                  up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), sample_size=8),
        scheduler=("EulerDiscreteScheduler", dict(**base.SD1_BETAS, timestep_spacing="trailing", steps_offset=1, prediction_type="v_prediction",
                                                  rescale_betas_zero_snr=True)),
    ),
    # The refiner: the second text encoder alone, a wider UNet of four levels, five numbers of which the last is an aesthetic score; float16.
    "xl_refiner": dict(
        dtype=torch.float16, zeros=False, score=True, text=None, text_2=TEXT_2,
        unet=dict(block_out_channels=(12, 12, 16, 16), layers_per_block=1, norm_num_groups=4, attention_head_dim=(1, 2, 4, 4), cross_attention_dim=20,
                  transformer_layers_per_block=1, use_linear_projection=True, addition_embed_type="text_time", addition_time_embed_dim=6,
                  projection_class_embeddings_input_dim=44, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"),
                  up_block_types=("UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"), sample_size=8),
        scheduler=EULER,
    ),
}

SMALL = dict(width=64, height=64, steps=5, guidance=5.0, seed=1, prompt="a red house on green hills")
CASES = {
    "xl": {
        "default": dict(SMALL, size_from_config=True),
        "negative": dict(SMALL, negative="snow, night, rain"),
        "empty_negative": dict(SMALL, negative=""),  # encoded: not the zeros of one that is not given
        "empty_prompt": dict(SMALL, prompt=""),
        "two_prompts": dict(SMALL, prompt_2="a sailing boat at night", negative="rain", negative_2="the moon"),
        "long": dict(SMALL, prompt=base.LONG, negative=base.LONG[::-1], seed=3),
        "exclamations": dict(SMALL, prompt="a red house!!! on ! green hills!", seed=2),
        "sizes": dict(SMALL, width=72, height=40, original_size=[512, 384], crop=[16, 8], target_size=[1024, 1000]),
        "negative_sizes": dict(SMALL, width=40, height=72, negative_original_size=[100, 90], negative_target_size=[200, 300], negative_crop=[3, 5]),
        "last_layer": dict(SMALL, clip_skip=1, compat="diffusers"),
        "third_layer": dict(SMALL, clip_skip=3, negative="rain", compat="diffusers"),  # the negative prompt is that of the last but one
        "layers_apart": dict(SMALL, clip_skip=1, clip_skip_2=3, negative="rain", compat="diffusers"),
        "second_layer_alone": dict(SMALL, clip_skip_2=1, compat="diffusers"),
        "no_guidance": dict(SMALL, guidance=1.0, negative="not used"),
        "twenty_steps": dict(SMALL, steps=20, seed=9),
        "dpmpp_2m_karras": dict(SMALL, sampler="dpmpp_2m", schedule="karras", steps=8),
        "euler_ancestral": dict(SMALL, sampler="euler_ancestral"),
        "batch": dict(SMALL, batch=2, seed=40),
    },
    "xl_lcm": {
        "default": dict(SMALL, steps=4, guidance=8.0),
        "negative_is_not_used": dict(SMALL, steps=4, guidance=2.0, negative="snow"),
        "euler": dict(SMALL, steps=4, guidance=1.0, sampler="euler"),
    },
    "xl_v": {
        "default": dict(SMALL, size_from_config=True),
        "one_step": dict(SMALL, steps=1, guidance=1.0),  # as Turbo is used
        "four_steps": dict(SMALL, steps=4, guidance=0.0),
        "ddim": dict(SMALL, sampler="ddim"),
    },
    "xl_refiner": {
        "hand_off": dict(SMALL, base="xl", end=0.8, negative="rain"),
        "hand_off_early": dict(SMALL, base="xl", end=0.3, steps=7, seed=4, width=72, height=40),
        "hand_off_dpmpp_2m": dict(SMALL, base="xl", end=0.6, steps=10, sampler="dpmpp_2m"),
        "hand_off_sizes": dict(SMALL, base="xl", end=0.5, original_size=[512, 384], crop=[16, 8], aesthetic=7.5, negative_aesthetic=1.0),
        "alone": dict(SMALL),
        "alone_negative": dict(SMALL, negative="rain", aesthetic=9.0, steps=3),
    },
}


def clip(cls, spec, words):
    start, end = words - 2, words - 1
    return cls(CLIPTextConfig(vocab_size=words, bos_token_id=start, eos_token_id=end, pad_token_id=end, **spec))


def make_checkpoint(name):
    spec, out = CHECKPOINTS[name], HERE / name
    shutil.rmtree(out, ignore_errors=True)
    words = len(json.loads((DEMO / "tokenizer/vocab.json").read_text()))

    def tokenizer(pad):
        return CLIPTokenizer(str(DEMO / "tokenizer/vocab.json"), str(DEMO / "tokenizer/merges.txt"), model_max_length=77, pad_token=pad)

    text = clip(CLIPTextModel, spec["text"], words) if spec["text"] else None
    parts = dict(text_encoder=text, text_encoder_2=clip(CLIPTextModelWithProjection, spec["text_2"], words),
                 unet=UNet2DConditionModel(**spec["unet"]),
                 vae=AutoencoderKL(down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4, sample_size=64, **VAE))
    for part in parts.values():
        if part is not None:
            name_weights.fill(part)
    with torch.no_grad():
        parts["unet"].conv_out.weight *= spec.get("gain", 1.0)
        parts["vae"].decoder.conv_out.weight *= 0.4
    cls, scheduler = spec["scheduler"]
    more = dict(requires_aesthetics_score=True) if spec.get("score") else {}
    pipe = (StableDiffusionXLImg2ImgPipeline if spec.get("score") else StableDiffusionXLPipeline)(
        tokenizer=tokenizer("<|endoftext|>") if text is not None else None, tokenizer_2=tokenizer("!"), scheduler=getattr(diffusers, cls)(**scheduler),
        force_zeros_for_empty_prompt=spec["zeros"], add_watermarker=False, **parts, **more)
    pipe.to(dtype=spec["dtype"]).save_pretrained(out, safe_serialization=True)
    for path in out.glob("*/*config.json"):
        config = json.loads(path.read_text())
        config.pop("_name_or_path", None)
        path.write_text(json.dumps(config, indent=2) + "\n")
    print(name, sum(p.stat().st_size for p in out.rglob("*") if p.is_file()), "bytes")


def opened(name, case, dtype):
    cls = StableDiffusionXLImg2ImgPipeline if CHECKPOINTS[name].get("score") else StableDiffusionXLPipeline
    pipe = cls.from_pretrained(HERE / name, torch_dtype=dtype, add_watermarker=False)
    pipe.set_progress_bar_config(disable=True)
    pipe.scheduler = base.with_sampler(pipe.scheduler, case)
    return pipe


def hw(size):
    return (size[1], size[0])  # a case says width × height, as hearth's flags do


def sizes_of(case, refiner):
    told = {}
    for key, name in dict(original_size="original_size", target_size="target_size", negative_original_size="negative_original_size",
                          negative_target_size="negative_target_size").items():
        if key in case:
            told[name] = hw(case[key])
    if "crop" in case:
        told["crops_coords_top_left"] = hw(case["crop"])  # X, Y
    if "negative_crop" in case:
        told["negative_crops_coords_top_left"] = hw(case["negative_crop"])
    if refiner:
        told["aesthetic_score"] = case.get("aesthetic", 6.0)
        told["negative_aesthetic_score"] = case.get("negative_aesthetic", 2.5)
    return told


def prompts_of(pipe, case, batch, dtype):
    """As a pipeline takes them; in f64, and where each text encoder has its own clip skip, as embeddings that were made in f32."""
    told = dict(prompt=[case["prompt"]] * batch)
    for key, name in dict(prompt_2="prompt_2", negative="negative_prompt", negative_2="negative_prompt_2").items():
        if key in case:
            told[name] = [case[key]] * batch
    skip = dict(clip_skip=case["clip_skip"] - 2) if "clip_skip" in case else {}
    if dtype == torch.float32 and "clip_skip_2" not in case:
        return told | skip
    told = {k: v[0] if k.endswith("_2") and batch == 1 else v for k, v in told.items()}
    guided = case["guidance"] > 1 and pipe.unet.config.time_cond_proj_dim is None
    with torch.no_grad():
        how = dict(told, device="cpu", num_images_per_prompt=1, do_classifier_free_guidance=guided)
        embeds = pipe.to(torch.float32).encode_prompt(**how, **skip)
        if "clip_skip_2" in case:  # the second encoder's states stand behind the first one's
            width = pipe.text_encoder.config.hidden_size
            second = pipe.encode_prompt(**how, clip_skip=case["clip_skip_2"] - 2)[0]
            embeds = (torch.cat([embeds[0][..., :width], second[..., width:]], -1), *embeds[1:])
    names = ("prompt_embeds", "negative_prompt_embeds", "pooled_prompt_embeds", "negative_pooled_prompt_embeds")
    return {name: value.to(dtype) for name, value in zip(names, embeds) if value is not None}


def run(name, case, dtype, latents=None, **also):
    """The final latents of one pipeline: from noise, or from what another one left."""
    batch, seed = case.get("batch", 1), case["seed"]
    pipe = opened(name, case, torch.float32)
    told = prompts_of(pipe, case, batch, dtype)
    scheduler = pipe.scheduler
    if dtype != torch.float32:
        pipe = opened(name, case, dtype)
        pipe.scheduler = scheduler
    refiner = bool(CHECKPOINTS[name].get("score"))
    generator = [torch.Generator().manual_seed(seed + k) for k in range(batch)]
    size = {} if case.get("size_from_config") or refiner else dict(width=case["width"], height=case["height"])
    common = dict(**told, **sizes_of(case, refiner), num_inference_steps=case["steps"], guidance_scale=case["guidance"], generator=generator,
                  output_type="latent", **also)
    with torch.no_grad():
        if refiner:
            return pipe(image=latents, **common).images, pipe
        height, width = (size["height"], size["width"]) if size else base.default_size(pipe)
        noise = randn_tensor((batch, 4, height // 8, width // 8), generator=generator, dtype=torch.float32)
        return pipe(latents=noise.to(dtype), **common, **size).images, pipe


def refined(name, case, dtype):
    if "base" in case:
        left, _ = run(case["base"], {k: v for k, v in case.items() if k not in ("clip_skip",)}, dtype, denoising_end=case["end"])
        return run(name, case, dtype, latents=left, denoising_start=case["end"])
    # From noise alone: all steps, none of them skipped.
    generator = [torch.Generator().manual_seed(case["seed"])]
    noise = randn_tensor((1, 4, case["height"] // 8, case["width"] // 8), generator=generator, dtype=torch.float32).to(dtype)
    pipe = opened(name, case, torch.float32)
    pipe.scheduler.set_timesteps(case["steps"])
    return run(name, case, dtype, latents=noise * pipe.scheduler.init_noise_sigma, denoising_start=0.0001)


def draw(name, case, dtype=torch.float32):
    return refined(name, case, dtype) if CHECKPOINTS[name].get("score") else run(name, case, dtype)


def make_pictures(name):
    tensors, cases = {}, {}
    for label, case in CASES[name].items():
        latents, pipe = draw(name, case)
        exact, _ = draw(name, case, torch.float64)
        rounding = float((latents - exact).norm() / exact.norm())
        if CHECKPOINTS[name].get("exact"):
            latents = exact.float()
        with torch.no_grad():
            decoded = pipe.vae.decode(latents / pipe.vae.config.scaling_factor, return_dict=False)[0]
        picture = pipe.image_processor.postprocess(decoded, output_type="np")
        picture = torch.from_numpy((picture * 255).round().astype(base.np.uint8))
        record = {k: v for k, v in case.items() if k != "size_from_config"}
        if case.get("size_from_config"):
            record["height"], record["width"] = picture.shape[1:3]
            record["size_from_config"] = True
        record["rounding"] = float(f"{rounding:.1e}")
        tensors[f"{label}.latents"], tensors[f"{label}.image"] = latents.contiguous(), picture.contiguous()
        cases[label] = record
        first = tensors[f"{next(iter(CASES[name]))}.latents"]
        away = f", from the first case {(latents - first).norm() / first.norm():.1e}" if latents.shape == first.shape else ""
        print(f"{name}.{label}: latents {tuple(latents.shape)} rms {latents.square().mean().sqrt():.3g}, decoded std {decoded.std():.3g} "
              f"clipped {(decoded.abs() > 1).float().mean():.2g}, rounding {record['rounding']:.1e}{away}", flush=True)
    versions = dict(torch=torch.__version__, diffusers=diffusers.__version__, transformers=transformers.__version__)
    save_file(tensors, HERE / f"{name}.safetensors", metadata={"made by": "tests/e2e/golden/make_xl.py", **versions})
    (HERE / f"{name}.json").write_text(json.dumps(dict(versions=versions, cases=cases), indent=1, ensure_ascii=True) + "\n")


def main():
    base.ancestral.randn_tensor = base.noise_as_in_f32
    diffusers.schedulers.scheduling_lcm.randn_tensor = base.noise_as_in_f32
    words = sys.argv[1:]
    names = [w for w in words if w in CASES] or list(CASES)
    what = [w for w in words if w in ("checkpoints", "pictures")] or ["checkpoints", "pictures"]
    for name in list(CHECKPOINTS):
        if "checkpoints" in what and name in names:
            make_checkpoint(name)
    for name in names:
        if "pictures" in what:
            make_pictures(name)


if __name__ == "__main__":
    main()
