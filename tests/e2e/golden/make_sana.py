"""Goldens of SANA: what diffusers' SanaPipeline, SanaSprintPipeline and SanaSprintImg2ImgPipeline draw from small checkpoints.

    OMP_NUM_THREADS=1 python make_sana.py [checkpoints] [pictures] [NAME …]

needs tokenizers too. The files are those of make.py, which says more; sana_images.json and sana_images.safetensors: runs that start from an
image. Weights are a function of their names. clean_caption is off, as in the reference.
"""

import json
import shutil
import sys

import make as base
import make_sd3
import torch
from diffusers import (AutoencoderDC, DPMSolverMultistepScheduler, FlowMatchEulerDiscreteScheduler, SanaPipeline, SanaSprintImg2ImgPipeline,
                       SanaSprintPipeline, SanaTransformer2DModel, SCMScheduler)
from make_flux import picture
from PIL import Image
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import Gemma2Config, Gemma2Model, GemmaTokenizerFast

import diffusers
import transformers

HERE, name_weights = base.HERE, base.name_weights
VAE = dict(latent_channels=4, attention_head_dim=4, encoder_block_out_channels=(4, 4, 4, 8, 8, 8), decoder_block_out_channels=(4, 4, 4, 8, 8, 8),
           encoder_block_types=("ResBlock",) * 3 + ("EfficientViTBlock",) * 3, decoder_block_types=("ResBlock",) * 3 + ("EfficientViTBlock",) * 3,
           encoder_layers_per_block=(1,) * 6, decoder_layers_per_block=(1,) * 6, encoder_qkv_multiscales=((), (), (), (5,), (5,), (5,)),
           decoder_qkv_multiscales=((), (), (), (5,), (5,), (5,)), downsample_block_type="conv", upsample_block_type="interpolate",
           scaling_factor=0.41407)
TEXT = dict(hidden_size=16, intermediate_size=36, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=6,
            query_pre_attn_scalar=6, max_position_embeddings=2048, attn_logit_softcapping=1.5, sliding_window=64)
DPM = dict(prediction_type="flow_prediction", use_flow_sigmas=True, flow_shift=3.0)

CHECKPOINTS = {
    # As 1.6B at 512 pixels: no positions, no norms of queries and keys; bfloat16.
    "sana": dict(
        pipeline=SanaPipeline, dtype=torch.bfloat16, text=TEXT, scheduler=lambda: DPMSolverMultistepScheduler(**DPM),
        transformer=dict(in_channels=4, out_channels=4, num_attention_heads=3, attention_head_dim=8, num_layers=2, num_cross_attention_heads=2,
                         cross_attention_head_dim=12, cross_attention_dim=24, caption_channels=16, sample_size=16),
    ),
    # As 1.5, with the positions of the models for 2048 pixels, a learned variance, a timestep in other units, and another scheduler; float16.
    "sana_15": dict(
        pipeline=SanaPipeline, dtype=torch.float16, text=dict(TEXT, num_hidden_layers=1, sliding_window=4096),
        scheduler=lambda: FlowMatchEulerDiscreteScheduler(shift=3.0),
        transformer=dict(in_channels=4, out_channels=8, num_attention_heads=4, attention_head_dim=6, num_layers=3, num_cross_attention_heads=3,
                         cross_attention_head_dim=8, cross_attention_dim=24, caption_channels=16, sample_size=32, qk_norm="rms_norm_across_heads",
                         interpolation_scale=1.0, timestep_scale=0.5),
    ),
    # As Sprint; bfloat16.
    "sana_sprint": dict(
        pipeline=SanaSprintPipeline, dtype=torch.bfloat16, text=TEXT, scheduler=SCMScheduler,
        transformer=dict(in_channels=4, out_channels=4, num_attention_heads=2, attention_head_dim=8, num_layers=2, num_cross_attention_heads=2,
                         cross_attention_head_dim=8, cross_attention_dim=16, caption_channels=16, sample_size=32, qk_norm="rms_norm_across_heads",
                         guidance_embeds=True, guidance_embeds_scale=0.1),
    ),
}

SMALL = dict(width=128, height=128, steps=5, guidance=4.5, seed=1, prompt="a red house on green hills", no_binning=True)
BINNED = {key: value for key, value in SMALL.items() if key != "no_binning"}
FAST = dict(SMALL, steps=2)
CASES = {
    "sana": {
        "default": dict(SMALL),
        "negative": dict(SMALL, negative="Snow, NIGHT, rain ", width=160, height=96),
        "upper_case": dict(SMALL, prompt="  A Red House, ON Green Hills Σ\n", seed=2),
        "long": dict(SMALL, prompt=base.LONG, negative=base.LONG[::-1], seed=3),
        "unicode": dict(SMALL, prompt=base.UNICODE, seed=2),
        "short_sequence": dict(SMALL, max_sequence_length=7, negative="rain, snow, the moon and a black cat"),
        "one_row": dict(SMALL, max_sequence_length=1),
        "empty_prompt": dict(SMALL, prompt=""),
        "no_instruction": dict(SMALL, instruction="", negative="snow"),
        "own_instruction": dict(SMALL, instruction="Describe the picture:\nText: ", max_sequence_length=12),
        "no_guidance": dict(SMALL, guidance=1.0, negative="not used"),
        "wide": dict(SMALL, width=288, height=64, seed=5),
        "one_step": dict(SMALL, steps=1),
        "two_steps": dict(SMALL, steps=2),
        "twenty_steps": dict(SMALL, steps=20, seed=9, width=96, height=224),
        "batch": dict(SMALL, batch=2, seed=40, width=64, height=96),
        "batch_one_generator": dict(SMALL, batch=2, compat="diffusers", seed=41, width=64, height=96),
        "binned_wide": dict(BINNED, width=150, height=87, steps=2, negative="fog"),  # made in 672×384
        "whole_size": dict(BINNED, steps=1, size_from_config=True, image_step=16),
    },
    "sana_15": {
        "default": dict(SMALL),
        "negative": dict(SMALL, negative="snow, night, rain", width=160, height=96),
        "long": dict(SMALL, prompt=base.LONG, seed=3),
        "binned_tall": dict(BINNED, width=101, height=200, steps=2),  # made in 704×1408
    },
    "sana_sprint": {
        "default": dict(FAST),
        "negative": dict(FAST, width=160, height=96, negative="not used"),
        "one_step": dict(FAST, steps=1),
        "four_steps": dict(FAST, steps=4, seed=7),
        "scale": dict(FAST, guidance=1.5),
        "long": dict(FAST, prompt=base.LONG, seed=3),
        "batch": dict(FAST, batch=2, seed=40, width=64, height=96),
        "batch_one_generator": dict(FAST, batch=2, compat="diffusers", seed=41, width=64, height=96),
        "binned": dict({k: v for k, v in FAST.items() if k != "no_binning"}, width=77, height=77),  # made in 1024×1024
    },
}
IMAGE = dict(FAST, checkpoint="sana_sprint", kind="image", seed=5)
IMAGES = {
    "image_060": dict(IMAGE, strength=0.6),  # both steps: rounded up
    "image_040": dict(IMAGE, strength=0.4, width=160, height=96),  # the second step
    "image_100": dict(IMAGE, strength=1.0),
    "image_four_steps": dict(IMAGE, strength=0.5, steps=4),
    "image_batch": dict(IMAGE, strength=0.6, batch=2, seed=50, compat="diffusers", width=64, height=96),
}


def tokenizer():
    """As Gemma's tokenizer.json: byte pairs of whole texts with their spaces, and bytes where a character is unknown."""
    instruction = "\n".join(instruction_of({}))
    words = instruction.lower() + base.LONG + " a sailing boat at night two pine trees the moon snow rain fog lighthouse describe the picture text"
    special, pieces = ["<pad>", "<eos>", "<bos>", "<unk>"], [f"<0x{b:02X}>" for b in range(256)]
    made = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    made.normalizer = normalizers.Replace(" ", "▁")
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="never", split=True)
    alphabet = sorted(set(instruction + words))
    made.train_from_iterator([instruction, words] * 3, trainers.BpeTrainer(vocab_size=700, special_tokens=special + pieces, min_frequency=2,
                                                                           initial_alphabet=alphabet, show_progress=False))
    data = json.loads(made.to_str())
    data["added_tokens"] = [t for t in data["added_tokens"] if t["content"] in special]
    data["pre_tokenizer"] = dict(type="Split", pattern={"String": " "}, behavior="MergedWithPrevious", invert=False)
    data["decoder"] = dict(type="Sequence", decoders=[dict(type="Replace", pattern={"String": "▁"}, content=" "), dict(type="ByteFallback"),
                                                     dict(type="Fuse")])
    path = HERE / "tokenizer.json"
    path.write_text(json.dumps(data))
    fast = GemmaTokenizerFast(tokenizer_file=str(path), add_bos_token=True, model_max_length=1 << 30)
    path.unlink()
    return fast


def instruction_of(case):
    """What the pipeline is given: None for its own."""
    import inspect
    default = inspect.signature(SanaPipeline.__call__).parameters["complex_human_instruction"].default
    return default if "instruction" not in case else case["instruction"].split("\n") if case["instruction"] else None


def make_checkpoint(name):
    spec, out = CHECKPOINTS[name], HERE / name
    shutil.rmtree(out, ignore_errors=True)
    words = tokenizer()
    parts = dict(text_encoder=Gemma2Model(Gemma2Config(vocab_size=-(-len(words) // 8) * 8, **spec["text"])),
                 transformer=SanaTransformer2DModel(**spec["transformer"]), vae=AutoencoderDC(**VAE))
    for part in parts.values():
        name_weights.fill(part.float())
    with torch.no_grad():
        parts["vae"].decoder.conv_out.weight.mul_(GAIN)
    pipe = spec["pipeline"](tokenizer=words, scheduler=spec["scheduler"](), **parts)
    pipe.to(dtype=spec["dtype"]).save_pretrained(out, safe_serialization=True)
    for path in out.glob("*/*config.json"):
        config = json.loads(path.read_text())
        config.pop("_name_or_path", None)
        path.write_text(json.dumps(config, indent=2) + "\n")
    print(name, sum(p.stat().st_size for p in out.rglob("*") if p.is_file()), "bytes")


GAIN = 0.4
WHOLE = ("default", "negative", "binned", "binned_wide", "binned_tall")  # cases whose images are stored with all pixels


def draw(name, case, dtype=torch.float32):
    batch = case.get("batch", 1)
    pipe = CHECKPOINTS[name]["pipeline"].from_pretrained(HERE / name, torch_dtype=torch.float32)
    assert pipe.text_encoder.config._attn_implementation == "sdpa"
    if "strength" in case:
        pipe = SanaSprintImg2ImgPipeline(**pipe.components)
    pipe.set_progress_bar_config(disable=True)
    pipe.transformer.to(dtype), pipe.vae.to(dtype)
    sprint = not isinstance(pipe, SanaPipeline)
    side = pipe.transformer.config.sample_size * 32
    size = dict(width=side, height=side) if case.get("size_from_config") else dict(width=case["width"], height=case["height"])
    given = dict(prompt=[case["prompt"]] * batch, num_inference_steps=case["steps"], guidance_scale=case["guidance"],
                 generator=make_sd3.generators(case, batch), output_type="latent", use_resolution_binning=not case.get("no_binning"),
                 complex_human_instruction=instruction_of(case), max_sequence_length=case.get("max_sequence_length", 300), **size)
    if sprint:
        if case["steps"] != 2:
            given["intermediate_timesteps"] = None
    else:
        given["negative_prompt"] = [case.get("negative", "")] * batch
    if "strength" in case:
        given |= dict(image=Image.fromarray(picture(case["width"], case["height"])), strength=case["strength"])
    with torch.no_grad():
        latents = pipe(**given).images
    return latents, pipe, size


def versions():
    return dict(torch=torch.__version__, diffusers=diffusers.__version__, transformers=transformers.__version__)


def save(name, tensors, cases):
    save_file(tensors, HERE / f"{name}.safetensors", metadata={"made by": "tests/e2e/golden/make_sana.py", **versions()})
    (HERE / f"{name}.json").write_text(json.dumps(dict(versions=versions(), cases=cases), indent=1, ensure_ascii=True) + "\n")


def rounding_of(name, case, latents):
    exact, _, _ = draw(name, case, torch.float64)
    return float(f"{float((latents - exact).norm() / exact.norm()):.1e}")


def make_pictures(name):
    tensors, cases = {}, {}
    for label, case in CASES[name].items():
        latents, pipe, size = draw(name, case)
        with torch.no_grad():
            decoded = pipe.vae.decode(latents / pipe.vae.config.scaling_factor, return_dict=False)[0]
        if not case.get("no_binning"):
            decoded = pipe.image_processor.resize_and_crop_tensor(decoded, size["width"], size["height"])
        made = pipe.image_processor.postprocess(decoded, output_type="np")
        made = torch.from_numpy((made * 255).round().astype(base.np.uint8))
        record = dict(case) | size | dict(rounding=rounding_of(name, case, latents))
        step = record.setdefault("image_step", 1 if label in WHOLE else 4)
        tensors[f"{label}.latents"], tensors[f"{label}.image"] = latents.float().contiguous(), made[:, ::step, ::step].contiguous()
        cases[label] = record
        first = tensors[f"{next(iter(CASES[name]))}.latents"]
        away = f", from the first case {(latents - first).norm() / first.norm():.1e}" if latents.shape == first.shape else ""
        print(f"{name}.{label}: latents {tuple(latents.shape)} rms {latents.square().mean().sqrt():.3g}, decoded std {decoded.std():.3g} "
              f"clipped {(decoded.abs() > 1).float().mean():.2g}, rounding {record['rounding']:.1e}{away}", flush=True)
    save(name, tensors, cases)


def make_images():
    tensors, cases = {}, {}
    for label, case in IMAGES.items():
        latents, _, _ = draw(case["checkpoint"], case)
        tensors[f"picture.{case['width']}x{case['height']}"] = torch.from_numpy(picture(case["width"], case["height"]))
        tensors[label], cases[label] = latents.float().contiguous(), dict(case) | dict(rounding=rounding_of(case["checkpoint"], case, latents))
        print(f"{label}: latents {tuple(latents.shape)} rms {latents.square().mean().sqrt():.3g}, rounding {cases[label]['rounding']:.1e}", flush=True)
    save("sana_images", tensors, cases)


def main():
    words = sys.argv[1:]
    names = [w for w in words if w in CASES] or list(CASES)
    what = [w for w in words if w in ("checkpoints", "pictures", "images")] or ["checkpoints", "pictures", "images"]
    for name in names:
        if "checkpoints" in what:
            make_checkpoint(name)
        if "pictures" in what:
            make_pictures(name)
    if "images" in what:
        make_images()


if __name__ == "__main__":
    main()
