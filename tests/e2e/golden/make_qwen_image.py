"""Goldens of Qwen-Image: what diffusers' QwenImagePipeline and its relatives make of a small checkpoint.

    OMP_NUM_THREADS=1 python make_qwen_image.py [checkpoints] [images]

needs diffusers 0.39.0, transformers 4.57.1, tokenizers and torch (see tools/oracle-requirements.txt). It writes, beside itself,

    qwen_image/              a checkpoint as save_pretrained publishes it (weights from their names, see tools/name_weights.py)
    qwen_image.json          the cases
    qwen_image.safetensors   per case the final latents [n, c, h, w] f32; pictures and masks [H, W, 3] and [H, W] u8

`rounding` is the relative L2 distance between the f32 latents and the same run with transformer and autoencoder in f64.
"""

import json
import shutil
import sys

import make as base
import torch
from diffusers import (AutoencoderKLQwenImage, FlowMatchEulerDiscreteScheduler, QwenImageImg2ImgPipeline, QwenImageInpaintPipeline, QwenImagePipeline,
                       QwenImageTransformer2DModel)
from diffusers.models.autoencoders import vae as vae_module
from diffusers.utils.torch_utils import randn_tensor
from make_flux import mask, picture
from make_z_image import CHAT
from PIL import Image
from safetensors.torch import save_file
from tokenizers import ByteLevelBPETokenizer
from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration, Qwen2TokenizerFast

import diffusers
import transformers

HERE, name_weights = base.HERE, base.name_weights
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|image_pad|>", "<|vision_end|>"]

TEXT = dict(hidden_size=24, intermediate_size=36, num_hidden_layers=3, num_attention_heads=3, num_key_value_heads=1, max_position_embeddings=2048,
            max_window_layers=3, rms_norm_eps=1e-6, rope_theta=1000.0, tie_word_embeddings=False,
            rope_scaling={"type": "mrope", "mrope_section": [1, 1, 2]})
VISION = dict(depth=2, hidden_size=16, intermediate_size=20, num_heads=2, out_hidden_size=24, patch_size=14, spatial_merge_size=2, temporal_patch_size=2,
              window_size=112, fullatt_block_indexes=[1])
TRANSFORMER = dict(in_channels=16, out_channels=4, num_layers=2, attention_head_dim=12, num_attention_heads=2, joint_attention_dim=24,
                   axes_dims_rope=(4, 4, 4))
VAE = dict(base_dim=4, z_dim=4, dim_mult=[1, 2, 2, 2], num_res_blocks=1, latents_mean=[0.1, -0.2, 0.3, 0.05], latents_std=[1.5, 0.8, 2.0, 1.2])
SCHEDULER = dict(base_image_seq_len=256, base_shift=0.5, max_image_seq_len=8192, max_shift=0.9, num_train_timesteps=1000, shift=1.0, shift_terminal=0.02,
                 time_shift_type="exponential", use_dynamic_shifting=True)

SMALL = dict(checkpoint="qwen_image", kind="text", width=64, height=48, steps=4, guidance=4.0, seed=1, prompt="a red house on green hills")
IMAGE, PAINT = dict(SMALL, kind="image", seed=5), dict(SMALL, kind="paint", seed=6)
CASES = {
    "default": dict(SMALL),  # without a negative prompt there is no guidance
    "negative": dict(SMALL, negative="snow, night", guidance=2.5),
    "blank": dict(SMALL, negative=" "),
    "empty_negative": dict(SMALL, negative=""),
    "off": dict(SMALL, negative="snow", guidance=1.0, steps=8),
    "long": dict(SMALL, prompt=base.LONG, negative="snow", seed=3),
    "cut": dict(SMALL, prompt=base.LONG, negative="snow", seed=3, length=9),
    "unicode": dict(SMALL, prompt=base.UNICODE, seed=2),
    "empty_prompt": dict(SMALL, prompt=""),
    "two_steps": dict(SMALL, steps=2),
    "twelve_steps": dict(SMALL, steps=12, width=32, height=80, negative="rain"),
    "tiny": dict(SMALL, width=16, height=16, steps=3),
    "wide": dict(SMALL, width=256, height=128, steps=2, negative="rain"),
    "batch": dict(SMALL, batch=2, seed=40, width=32, height=32, negative="rain"),
    "batch_one_generator": dict(SMALL, batch=2, seed=41, width=32, height=32, compat="diffusers"),
    "image_060": dict(IMAGE, strength=0.6),
    "image_030": dict(IMAGE, strength=0.3, steps=7, negative="rain"),  # three calls: rounded up
    "image_100": dict(IMAGE, strength=1.0),
    "image_batch": dict(IMAGE, strength=0.6, batch=2, seed=50, compat="diffusers"),
    "paint_060": dict(PAINT, strength=0.6),
    "paint_100": dict(PAINT, strength=1.0, negative="night"),
    "paint_batch": dict(PAINT, strength=0.8, batch=2, seed=60, compat="diffusers"),
}
PIPELINES = {"text": QwenImagePipeline, "image": QwenImageImg2ImgPipeline, "paint": QwenImageInpaintPipeline}


def tokenizer():
    words = base.LONG + (" a sailing boat at night two pine trees the moon snow rain Describe image color, shape, size, texture, quantity, text, spatial "
                         "relationships of objects and background: user assistant system")
    trained = ByteLevelBPETokenizer(add_prefix_space=False)
    trained.train_from_iterator([words] * 3, vocab_size=320, min_frequency=2, show_progress=False)
    trained.save_model(str(HERE))
    made = Qwen2TokenizerFast(str(HERE / "vocab.json"), str(HERE / "merges.txt"), unk_token=None, eos_token="<|im_end|>", pad_token="<|endoftext|>",
                              additional_special_tokens=SPECIAL[1:], model_max_length=2048)
    for name in ("vocab.json", "merges.txt"):
        (HERE / name).unlink()
    made.chat_template = CHAT
    return made


def networks(words):
    ids = {f"{name}_token_id": words.convert_tokens_to_ids(f"<|{token}|>")
           for name, token in (("image", "image_pad"), ("vision_start", "vision_start"), ("vision_end", "vision_end"))}
    config = Qwen2_5_VLConfig(text_config=dict(TEXT, vocab_size=-(-len(words) // 8) * 8), vision_config=VISION, **ids)
    text, vae = Qwen2_5_VLForConditionalGeneration(config), AutoencoderKLQwenImage(**VAE)
    return text, vae


def make_checkpoint():
    out = HERE / "qwen_image"
    shutil.rmtree(out, ignore_errors=True)
    words = tokenizer()
    text, vae = networks(words)
    transformer = QwenImageTransformer2DModel(**TRANSFORMER)
    for part in (text, transformer, vae):
        name_weights.fill(part)
    pipe = QwenImagePipeline(scheduler=FlowMatchEulerDiscreteScheduler(**SCHEDULER), vae=vae, text_encoder=text, tokenizer=words, transformer=transformer)
    pipe.to(dtype=torch.bfloat16).save_pretrained(out, safe_serialization=True)
    for path in out.glob("*/*config.json"):
        config = json.loads(path.read_text())
        config.pop("_name_or_path", None)
        path.write_text(json.dumps(config, indent=2) + "\n")
    print("qwen_image", sum(p.stat().st_size for p in out.rglob("*") if p.is_file()), "bytes")


def noise_as_in_f32(shape, generator=None, device=None, dtype=None, layout=None):
    return randn_tensor(shape, generator=generator, device=device, dtype=torch.float32).to(dtype)


for pipeline in PIPELINES.values():
    sys.modules[pipeline.__module__].randn_tensor = noise_as_in_f32
vae_module.randn_tensor = noise_as_in_f32


@torch.no_grad()
def draw(case, dtype):
    pipe = QwenImagePipeline.from_pretrained(HERE / case["checkpoint"], torch_dtype=torch.float32)
    batch, seed, W, H = case.get("batch", 1), case["seed"], case["width"], case["height"]
    length = case.get("length", 512)
    given = dict(prompt_embeds=pipe.encode_prompt(case["prompt"], max_sequence_length=length)[0].to(dtype))
    if "negative" in case:
        given["negative_prompt_embeds"] = pipe.encode_prompt(case["negative"], max_sequence_length=length)[0].to(dtype)
    pipe = PIPELINES[case["kind"]](**pipe.components)
    pipe.transformer.to(dtype), pipe.vae.to(dtype)
    pipe.set_progress_bar_config(disable=True)
    generator = torch.Generator().manual_seed(seed) if case.get("compat") == "diffusers" else [torch.Generator().manual_seed(seed + k) for k in range(batch)]
    if batch == 1:
        generator = torch.Generator().manual_seed(seed)
    given |= dict(width=W, height=H, num_inference_steps=case["steps"], true_cfg_scale=case["guidance"], generator=generator, output_type="latent",
                  num_images_per_prompt=batch)
    if case["kind"] in ("image", "paint"):
        given |= dict(image=Image.fromarray(picture(W, H)), strength=case["strength"])
    if case["kind"] == "paint":
        given["mask_image"] = Image.fromarray(mask(W, H))
    packed = pipe(**given).images
    return pipe._unpack_latents(packed, H, W, pipe.vae_scale_factor)[:, :, 0]


def main():
    what = sys.argv[1:] or ["checkpoints", "images"]
    if "checkpoints" in what:
        make_checkpoint()
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
        record = dict(case) | {"rounding": float(f"{float((latents - exact).norm() / exact.norm()):.1e}")}
        tensors[name], cases[name] = latents.float().contiguous(), record
        print(f"{name}: latents {tuple(latents.shape)} rms {latents.square().mean().sqrt():.3g}, rounding {record['rounding']:.1e}", flush=True)
    versions = dict(torch=torch.__version__, diffusers=diffusers.__version__, transformers=transformers.__version__)
    save_file(tensors, HERE / "qwen_image.safetensors", metadata={"made by": "tests/e2e/golden/make_qwen_image.py", **versions})
    (HERE / "qwen_image.json").write_text(json.dumps(dict(versions=versions, cases=cases), indent=1, ensure_ascii=True) + "\n")


if __name__ == "__main__":
    main()
