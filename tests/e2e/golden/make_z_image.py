"""Goldens of Z-Image: what diffusers' ZImagePipeline and its relatives make of two small checkpoints.

    OMP_NUM_THREADS=1 python make_z_image.py [checkpoints] [images]

needs diffusers 0.39.0, transformers 4.57.1, tokenizers and torch (see tools/oracle-requirements.txt). It writes, beside itself,

    z_image/, z_image_mu/   checkpoints as save_pretrained publishes them (weights from their names, see tools/name_weights.py)
    z_image.json            the cases
    z_image.safetensors     per case the final latents [n, c, h, w] f32; pictures and masks [H, W, 3] and [H, W] u8

`rounding` is the relative L2 distance between the f32 latents and the same run with transformer and autoencoder in f64.
"""

import json
import shutil
import sys

import make as base
import torch
from diffusers import (AutoencoderKL, FlowMatchEulerDiscreteScheduler, ZImageImg2ImgPipeline, ZImageInpaintPipeline, ZImagePipeline,
                       ZImageTransformer2DModel)
from diffusers.models.autoencoders import vae as vae_module
from diffusers.utils.torch_utils import randn_tensor
from make_flux import mask, picture
from PIL import Image
from safetensors.torch import save_file
from tokenizers import ByteLevelBPETokenizer
from transformers import Qwen2TokenizerFast, Qwen3Config, Qwen3ForCausalLM, Qwen3Model

import diffusers
import transformers

HERE, name_weights = base.HERE, base.name_weights
CHAT = ("{%- for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>' + '\\n' }}{%- endfor %}"
        "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}"
        "{%- if enable_thinking is defined and enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}{%- endif %}{%- endif %}")
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

CHECKPOINTS = {
    # As published: a static shift; the language model without a head; bfloat16.
    "z_image": dict(
        dtype=torch.bfloat16,
        text=dict(hidden_size=20, intermediate_size=36, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=6,
                  max_position_embeddings=512, rope_theta=1000.0),
        headed=False,
        transformer=dict(in_channels=4, dim=24, n_layers=2, n_refiner_layers=1, n_heads=2, n_kv_heads=2, cap_feat_dim=20, axes_dims=[4, 4, 4],
                         axes_lens=[640, 40, 40]),
        vae=dict(block_out_channels=(4, 8, 8, 8), layers_per_block=1, norm_num_groups=2, latent_channels=4, scaling_factor=0.3611, shift_factor=0.1159,
                 use_quant_conv=False, use_post_quant_conv=False),
        scheduler=dict(num_train_timesteps=1000, shift=3.0, use_dynamic_shifting=False),
    ),
    # A shift by size; the language model with its head; an autoencoder of factor 4 with six channels; float16.
    "z_image_mu": dict(
        dtype=torch.float16,
        text=dict(hidden_size=12, intermediate_size=20, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, head_dim=8,
                  max_position_embeddings=512, tie_word_embeddings=False),
        headed=True,
        transformer=dict(in_channels=6, dim=16, n_layers=1, n_refiner_layers=2, n_heads=2, n_kv_heads=2, cap_feat_dim=12, axes_dims=[2, 2, 4],
                         axes_lens=[128, 64, 64]),
        vae=dict(block_out_channels=(4, 8, 8), layers_per_block=1, norm_num_groups=2, latent_channels=6, scaling_factor=0.5, shift_factor=-0.2,
                 use_quant_conv=False, use_post_quant_conv=False),
        scheduler=dict(num_train_timesteps=1000, shift=1.0, use_dynamic_shifting=True, base_shift=0.5, max_shift=1.15, base_image_seq_len=256,
                       max_image_seq_len=4096),
    ),
}

SMALL = dict(checkpoint="z_image", kind="text", width=64, height=48, steps=4, guidance=5.0, seed=1, prompt="a red house on green hills")
IMAGE, PAINT = dict(SMALL, kind="image", seed=5), dict(SMALL, kind="paint", seed=6)
MU = dict(SMALL, checkpoint="z_image_mu", width=40, height=56)
CASES = {
    "default": dict(SMALL),
    "negative": dict(SMALL, negative="snow, night", guidance=2.5),
    "turbo": dict(SMALL, guidance=0.0, steps=8),
    "little": dict(SMALL, guidance=0.5),
    "long": dict(SMALL, prompt=base.LONG, seed=3),
    "cut": dict(SMALL, prompt=base.LONG, negative="snow", seed=3, length=9),
    "unicode": dict(SMALL, prompt=base.UNICODE, seed=2),
    "empty_prompt": dict(SMALL, prompt=""),
    "normalized": dict(SMALL, negative="snow", normalization=0.8),
    "normalized_more": dict(SMALL, negative="snow", normalization=3.0),
    "truncated": dict(SMALL, steps=6, negative="snow", truncation=0.3),
    "one_step": dict(SMALL, steps=1),
    "twelve_steps": dict(SMALL, steps=12, width=32, height=80),
    "tiny": dict(SMALL, width=16, height=16, steps=3),
    "no_padding": dict(SMALL, width=128, height=64, steps=2),
    "batch": dict(SMALL, batch=2, seed=40, width=32, height=32),
    "batch_one_generator": dict(SMALL, batch=2, seed=41, width=32, height=32, compat="diffusers"),
    "mu": dict(MU),
    "mu_negative": dict(MU, negative="rain", guidance=3.0, width=72, height=8, steps=5),
    "image_060": dict(IMAGE, strength=0.6),
    "image_030": dict(IMAGE, strength=0.3, steps=7, guidance=0.0),  # three calls: rounded up
    "image_100": dict(IMAGE, strength=1.0),
    "image_batch": dict(IMAGE, strength=0.6, batch=2, seed=50, compat="diffusers"),
    "image_mu": dict(IMAGE, checkpoint="z_image_mu", width=40, height=56, strength=0.75, negative="rain", guidance=1.0),
    "paint_060": dict(PAINT, strength=0.6),
    "paint_100": dict(PAINT, strength=1.0, negative="night"),
    "paint_batch": dict(PAINT, strength=0.8, batch=2, seed=60, compat="diffusers"),
}
PIPELINES = {"text": ZImagePipeline, "image": ZImageImg2ImgPipeline, "paint": ZImageInpaintPipeline}


def tokenizer():
    words = base.LONG + " a sailing boat at night two pine trees the moon snow rain hot air balloon over desert lighthouse user assistant system"
    trained = ByteLevelBPETokenizer(add_prefix_space=False)
    trained.train_from_iterator([words] * 3, vocab_size=300, min_frequency=2, show_progress=False)
    trained.save_model(str(HERE))
    made = Qwen2TokenizerFast(str(HERE / "vocab.json"), str(HERE / "merges.txt"), unk_token=None, eos_token="<|im_end|>", pad_token="<|endoftext|>",
                              additional_special_tokens=SPECIAL[1:], model_max_length=512)
    for name in ("vocab.json", "merges.txt"):
        (HERE / name).unlink()
    made.chat_template = CHAT
    return made


def make_checkpoint(name):
    spec, out = CHECKPOINTS[name], HERE / name
    shutil.rmtree(out, ignore_errors=True)
    words = tokenizer()
    config = Qwen3Config(vocab_size=-(-len(words) // 8) * 8, **spec["text"])
    text = (Qwen3ForCausalLM if spec["headed"] else Qwen3Model)(config)
    transformer = ZImageTransformer2DModel(**spec["transformer"])
    levels = len(spec["vae"]["block_out_channels"])
    vae = AutoencoderKL(down_block_types=("DownEncoderBlock2D",) * levels, up_block_types=("UpDecoderBlock2D",) * levels, sample_size=64, **spec["vae"])
    for part in (text, transformer, vae):
        name_weights.fill(part)
    with torch.no_grad():
        vae.decoder.conv_out.weight *= 0.4
    pipe = ZImagePipeline(scheduler=FlowMatchEulerDiscreteScheduler(**spec["scheduler"]), vae=vae, text_encoder=text, tokenizer=words,
                          transformer=transformer)
    pipe.to(dtype=spec["dtype"]).save_pretrained(out, safe_serialization=True)
    for path in out.glob("*/*config.json"):
        config = json.loads(path.read_text())
        config.pop("_name_or_path", None)
        path.write_text(json.dumps(config, indent=2) + "\n")
    print(name, sum(p.stat().st_size for p in out.rglob("*") if p.is_file()), "bytes")


def noise_as_in_f32(shape, generator=None, device=None, dtype=None, layout=None):
    return randn_tensor(shape, generator=generator, device=device, dtype=torch.float32).to(dtype)


for pipeline in PIPELINES.values():
    sys.modules[pipeline.__module__].randn_tensor = noise_as_in_f32
vae_module.randn_tensor = noise_as_in_f32


@torch.no_grad()
def draw(case, dtype):
    pipe = ZImagePipeline.from_pretrained(HERE / case["checkpoint"], torch_dtype=torch.float32)
    batch, seed, W, H = case.get("batch", 1), case["seed"], case["width"], case["height"]
    texts, negatives = pipe.encode_prompt([case["prompt"]], negative_prompt=[case["negative"]] if "negative" in case else None,
                                          do_classifier_free_guidance=case["guidance"] > 0, max_sequence_length=case.get("length", 512))
    pipe = PIPELINES[case["kind"]](**pipe.components)
    pipe.transformer.to(dtype), pipe.vae.to(dtype)
    pipe.set_progress_bar_config(disable=True)
    generator = torch.Generator().manual_seed(seed) if case.get("compat") == "diffusers" else [torch.Generator().manual_seed(seed + k) for k in range(batch)]
    if batch == 1:
        generator = torch.Generator().manual_seed(seed)
    given = dict(width=W, height=H, num_inference_steps=case["steps"], guidance_scale=case["guidance"], generator=generator, output_type="latent",
                 prompt_embeds=[t.to(dtype) for t in texts], negative_prompt_embeds=[t.to(dtype) for t in negatives], num_images_per_prompt=batch)
    if "normalization" in case:
        given["cfg_normalization"] = case["normalization"]
    if "truncation" in case:
        given["cfg_truncation"] = case["truncation"]
    if case["kind"] in ("image", "paint"):
        given |= dict(image=Image.fromarray(picture(W, H)), strength=case["strength"])
    if case["kind"] == "paint":
        given["mask_image"] = Image.fromarray(mask(W, H))
    return pipe(**given).images


def recorded(case):
    """The case with the reference's own settings of guidance in general terms."""
    record = {k: v for k, v in case.items() if k not in ("normalization", "truncation")}
    if "normalization" in case:
        record |= dict(guidance_method="norm_cap", guidance_options={"most": str(case["normalization"])})
    if "truncation" in case:  # times up to it are guided: σ ≥ 1 − truncation
        record["lowest_sigma"] = (1 - case["truncation"]) / case["truncation"]
    return record


def main():
    what = sys.argv[1:] or ["checkpoints", "images"]
    if "checkpoints" in what:
        for name in CHECKPOINTS:
            make_checkpoint(name)
    if "images" not in what:
        return
    tensors, cases = {}, {}
    for name, case in CASES.items():
        latents, exact = draw(case, torch.float32), draw(case, torch.float64)
        W, H = case["width"], case["height"]
        if case["kind"] in ("image", "paint"):
            tensors[f"picture.{W}x{H}"] = torch.from_numpy(picture(W, H))
        if case["kind"] == "paint":
            tensors[f"mask.{W}x{H}"] = torch.from_numpy(mask(W, H))
        record = recorded(case) | {"rounding": float(f"{float((latents - exact).norm() / exact.norm()):.1e}")}
        tensors[name], cases[name] = latents.float().contiguous(), record
        print(f"{name}: latents {tuple(latents.shape)} rms {latents.square().mean().sqrt():.3g}, rounding {record['rounding']:.1e}", flush=True)
    versions = dict(torch=torch.__version__, diffusers=diffusers.__version__, transformers=transformers.__version__)
    save_file(tensors, HERE / "z_image.safetensors", metadata={"made by": "tests/e2e/golden/make_z_image.py", **versions})
    (HERE / "z_image.json").write_text(json.dumps(dict(versions=versions, cases=cases), indent=1, ensure_ascii=True) + "\n")


if __name__ == "__main__":
    main()
