"""Goldens of Hunyuan-DiT: what diffusers' HunyuanDiTPipeline draws from small checkpoints.

    OMP_NUM_THREADS=1 python make_hunyuan.py [checkpoints] [pictures] [NAME …]

needs sentencepiece and protobuf too. The files are those of make.py, which says more; weights are a function of their names. The vocabulary of BERT is
a list of words, pieces and characters, read by the slow BertTokenizer as the published one is.
"""

import json
import shutil
import sys

import make as base
import make_sd3
import torch
from diffusers import AutoencoderKL, DDPMScheduler, HunyuanDiT2DModel, HunyuanDiTPipeline
from diffusers.schedulers import scheduling_ddpm
from diffusers.utils.torch_utils import randn_tensor
from safetensors.torch import save_file
from transformers import BertConfig, BertModel, BertTokenizer, T5Config, T5EncoderModel, T5Tokenizer

import diffusers
import transformers

HERE, name_weights = base.HERE, base.name_weights
LEVELS = 4
VAE = dict(block_out_channels=(4, 4, 8, 8), layers_per_block=1, norm_num_groups=2, latent_channels=4, scaling_factor=0.13025, force_upcast=True)
BERT = dict(hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20, max_position_embeddings=80)
T5 = dict(d_model=16, d_kv=8, d_ff=24, num_layers=2, num_heads=3, feed_forward_proj="gated-gelu")
NET = dict(in_channels=4, patch_size=2, sample_size=8, num_attention_heads=2, attention_head_dim=8, hidden_size=16, cross_attention_dim=12,
           cross_attention_dim_t5=16, pooled_projection_dim=10, mlp_ratio=4.3637)
CHINESE = "一个宇航员在骑马"

CHECKPOINTS = {
    # As 1.1: sizes and a style are inputs; float16.
    "hunyuan_11": dict(dtype=torch.float16, beta_end=0.03, transformer=dict(NET, num_layers=6)),
    # As 1.2: neither; bfloat16.
    "hunyuan_12": dict(dtype=torch.bfloat16, beta_end=0.018, transformer=dict(NET, num_layers=4, use_style_cond_and_image_meta_size=False)),
}

SMALL = dict(width=64, height=64, steps=5, guidance=5.0, seed=1, prompt="a red house on green hills", no_binning=True)
BINNED = {key: value for key, value in SMALL.items() if key != "no_binning"}
CASES = {
    "hunyuan_11": {
        "default": dict(SMALL),
        "negative": dict(SMALL, negative="Snow, NIGHT, rain ", width=80, height=48),
        "chinese": dict(SMALL, prompt=CHINESE + ", a Red house!", negative="夜", seed=2),
        "long": dict(SMALL, prompt=base.LONG, negative=base.LONG[::-1], seed=3),
        "empty_prompt": dict(SMALL, prompt=""),
        "no_guidance": dict(SMALL, guidance=1.0, negative="not used"),
        "sizes": dict(SMALL, original_size=[512, 768], target_size=[640, 480], crop=[16, 8]),
        "wide": dict(SMALL, width=144, height=32, seed=5),
        "twenty_steps": dict(SMALL, steps=20, seed=9, width=48, height=112),
        "batch": dict(SMALL, batch=2, seed=40),
        "batch_one_generator": dict(SMALL, batch=2, compat="diffusers", seed=41),
    },
    "hunyuan_12": {
        "default": dict(SMALL),
        "negative": dict(SMALL, negative="snow, night, rain", width=80, height=48),
        "dpmpp": dict(SMALL, sampler="dpmpp_2m"),
        "euler": dict(SMALL, sampler="euler", guidance=3.0),
        "binned": dict(BINNED, width=700, height=500, steps=1, guidance=1.0),  # made in 768×1024
    },
}


def vocabulary():
    """Words, and pieces of one character, so that nothing but rare characters is unknown."""
    words = sorted({w for w in (base.LONG + " snow night rain fog house").lower().split() if len(w) > 2})
    letters = [chr(c) for c in range(33, 127) if not chr(c).isupper()]
    lines = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *("##" + c for c in letters if c.isalnum()), *words, *sorted(set(CHINESE))]
    return "".join(line + "\n" for line in lines)


def make_checkpoint(name):
    spec, out = CHECKPOINTS[name], HERE / name
    shutil.rmtree(out, ignore_errors=True)
    vocab, spiece = HERE / "vocab.txt", HERE / "spiece.model"
    vocab.write_text(vocabulary(), encoding="utf-8")
    spiece.write_bytes(make_sd3.pieces())
    tokenizer = BertTokenizer(str(vocab), model_max_length=77)
    tokenizer_2 = T5Tokenizer(str(spiece), extra_ids=0, model_max_length=256, legacy=True)
    parts = dict(text_encoder=BertModel(BertConfig(vocab_size=len(tokenizer), **BERT)),
                 text_encoder_2=T5EncoderModel(T5Config(vocab_size=len(tokenizer_2) + 8, **T5)), transformer=HunyuanDiT2DModel(**spec["transformer"]),
                 vae=AutoencoderKL(down_block_types=("DownEncoderBlock2D",) * LEVELS, up_block_types=("UpDecoderBlock2D",) * LEVELS, sample_size=64, **VAE))
    for part in parts.values():
        name_weights.fill(part.float())
    with torch.no_grad():
        parts["vae"].decoder.conv_out.weight.mul_(0.4)
    scheduler = DDPMScheduler(beta_start=0.00085, beta_end=spec["beta_end"], beta_schedule="scaled_linear", clip_sample=False, prediction_type="v_prediction",
                              steps_offset=1)
    pipe = HunyuanDiTPipeline(tokenizer=tokenizer, tokenizer_2=tokenizer_2, scheduler=scheduler, safety_checker=None, feature_extractor=None,
                              requires_safety_checker=False, **parts)
    pipe.to(dtype=spec["dtype"]).save_pretrained(out, safe_serialization=True)
    vocab.unlink(), spiece.unlink()
    for path in out.glob("*/*config.json"):
        config = json.loads(path.read_text())
        config.pop("_name_or_path", None)
        path.write_text(json.dumps(config, indent=2) + "\n")
    print(name, sorted(p.name for p in (out / "tokenizer").iterdir()), sum(p.stat().st_size for p in out.rglob("*") if p.is_file()), "bytes")


def opened(name, case, dtype):
    pipe = HunyuanDiTPipeline.from_pretrained(HERE / name, torch_dtype=dtype)
    pipe.set_progress_bar_config(disable=True)
    pipe.scheduler = make_sd3.with_sampler(pipe.scheduler, case)
    return pipe


def prompts_of(pipe, case, batch):
    """The prompts, encoded in f32."""
    told = {}
    for index, suffix in ((0, ""), (1, "_2")):
        with torch.no_grad():
            values = pipe.encode_prompt([case["prompt"]] * batch, do_classifier_free_guidance=case["guidance"] > 1,
                                        negative_prompt=[case.get("negative", "")] * batch, max_sequence_length=(77, 256)[index], text_encoder_index=index)
        names = ("prompt_embeds", "negative_prompt_embeds", "prompt_attention_mask", "negative_prompt_attention_mask")
        told |= {name + suffix: value for name, value in zip(names, values) if value is not None}
    return told


def draw(name, case, dtype=torch.float32):
    batch = case.get("batch", 1)
    pipe = opened(name, case, torch.float32)
    told = prompts_of(pipe, case, batch)
    kept, to = torch.Tensor.float, torch.Tensor.to
    if dtype != torch.float32:
        told = {key: value.to(dtype) if "embeds" in key else value for key, value in told.items()}
        pipe.transformer.to(dtype), pipe.vae.to(dtype)
        torch.Tensor.float = lambda x: x if x.dtype == torch.float64 else kept(x)
        torch.Tensor.to = lambda x, *args, **kwargs: x if x.dtype == torch.float64 and args == (torch.float32,) else to(x, *args, **kwargs)
    generator = make_sd3.generators(case, batch)
    size = dict(width=case["width"], height=case["height"])
    made = size
    if not case.get("no_binning"):
        module = sys.modules[type(pipe).__module__]
        made = dict(zip(("width", "height"), map(int, module.map_to_standard_shapes(size["width"] // 16 * 16, size["height"] // 16 * 16))))
    noise = randn_tensor((batch, 4, made["height"] // 8, made["width"] // 8), generator=generator, dtype=torch.float32)
    sizes = {key: tuple(case[asked][::-1]) for key, asked in (("original_size", "original_size"), ("target_size", "target_size"),
                                                              ("crops_coords_top_left", "crop")) if asked in case}
    try:
        with torch.no_grad():
            return pipe(latents=noise.to(dtype), **told, num_inference_steps=case["steps"], guidance_scale=case["guidance"], generator=generator,
                        output_type="latent", use_resolution_binning=not case.get("no_binning"), **size, **sizes).images, pipe
    finally:
        torch.Tensor.float, torch.Tensor.to = kept, to


def make_pictures(name):
    tensors, cases = {}, {}
    for label, case in CASES[name].items():
        latents, pipe = draw(name, case)
        exact, _ = draw(name, case, torch.float64)
        with torch.no_grad():
            decoded = pipe.vae.decode(latents / pipe.vae.config.scaling_factor, return_dict=False)[0]
        picture = pipe.image_processor.postprocess(decoded, output_type="np")
        picture = torch.from_numpy((picture * 255).round().astype(base.np.uint8))
        record = dict(case, rounding=float(f"{float((latents - exact).norm() / exact.norm()):.1e}"))
        tensors[f"{label}.latents"] = latents.contiguous()
        # Of a large image every fourth pixel.
        tensors[f"{label}.image"] = picture.contiguous() if picture.shape[1] < 500 else picture[:, ::4, ::4].contiguous()
        if picture.shape[1] >= 500:
            record["image_step"] = 4
        cases[label] = record
        print(f"{name}.{label}: latents {tuple(latents.shape)} rms {latents.square().mean().sqrt():.3g}, decoded std {decoded.std():.3g}, rounding "
              f"{record['rounding']:.1e}", flush=True)
    versions = dict(torch=torch.__version__, diffusers=diffusers.__version__, transformers=transformers.__version__)
    save_file(tensors, HERE / f"{name}.safetensors", metadata={"made by": "tests/e2e/golden/make_hunyuan.py", **versions})
    (HERE / f"{name}.json").write_text(json.dumps(dict(versions=versions, cases=cases), indent=1, ensure_ascii=True) + "\n")


def main():
    scheduling_ddpm.randn_tensor = base.noise_as_in_f32
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
