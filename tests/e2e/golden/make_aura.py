"""Goldens of AuraFlow: what diffusers' AuraFlowPipeline draws from a small checkpoint.

    OMP_NUM_THREADS=1 python make_aura.py [checkpoints] [pictures]

needs sentencepiece and protobuf too. The files are those of make.py, which says more; weights are a function of their names, but the position table
is multiplied, because its weights by name are as good as zero. The tokenizer is a SentencePiece model in the way of Llama, trained here.
"""

import io
import json
import shutil
import sys

import make as base
import make_sd3
import sentencepiece
import torch
from diffusers import AuraFlowPipeline, AuraFlowTransformer2DModel, AutoencoderKL, FlowMatchEulerDiscreteScheduler
from diffusers.utils.torch_utils import randn_tensor
from safetensors.torch import save_file
from transformers import LlamaTokenizerFast, UMT5Config, UMT5EncoderModel

import diffusers
import transformers

HERE, name_weights = base.HERE, base.name_weights
NAME, LEVELS = "aura_flow", 4
VAE = dict(block_out_channels=(4, 4, 8, 8), layers_per_block=1, norm_num_groups=2, latent_channels=4, scaling_factor=0.13025, force_upcast=True)
T5 = dict(d_model=20, d_kv=8, d_ff=32, num_layers=2, num_heads=3, feed_forward_proj="gated-gelu")
TRANSFORMER = dict(sample_size=8, num_mmdit_layers=2, num_single_dit_layers=2, attention_head_dim=8, num_attention_heads=2, joint_attention_dim=20,
                   caption_projection_dim=16, pos_embed_max_size=144)

SMALL = dict(width=64, height=64, steps=5, guidance=3.5, seed=1, prompt="a red house on green hills")
CASES = {
    "default": dict(SMALL),
    "negative": dict(SMALL, negative="Snow, NIGHT, rain ", width=80, height=48),
    "long": dict(SMALL, prompt=base.LONG, negative=base.LONG[::-1], seed=3),
    "unicode": dict(SMALL, prompt="Ein rotes Haus, l'été </s> a house !!! x", seed=2),
    "short_sequence": dict(SMALL, max_sequence_length=7, negative="rain"),
    "empty_prompt": dict(SMALL, prompt=""),
    "no_guidance": dict(SMALL, guidance=1.0, negative="not used"),
    "wide": dict(SMALL, width=192, height=32, seed=5),  # as wide as the position table
    "tall": dict(SMALL, width=16, height=112, seed=6),
    "one_step": dict(SMALL, steps=1),
    "twenty_steps": dict(SMALL, steps=20, seed=9),
    "heun": dict(SMALL, sampler="heun"),
    "batch": dict(SMALL, batch=2, seed=40),
    "batch_one_generator": dict(SMALL, batch=2, compat="diffusers", seed=41),
}


def pieces():
    """BPE with bytes as Llama's; <unk>, <pad>, </s> are 0, 1, 2."""
    text = [base.LONG, base.LONG[::-1], "a sailing boat at night", "Snow, NIGHT, rain", "fog and rain"] * 4
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(text), model_writer=model, vocab_size=340, model_type="bpe", unk_id=0, pad_id=1, eos_id=2,
                                             bos_id=-1, byte_fallback=True, normalization_rule_name="identity", num_threads=1, max_sentence_length=100000,
                                             hard_vocab_limit=False, minloglevel=2)
    return model.getvalue()


def make_checkpoint():
    out = HERE / NAME
    shutil.rmtree(out, ignore_errors=True)
    spiece = HERE / "tokenizer.model"
    spiece.write_bytes(pieces())
    tokenizer = LlamaTokenizerFast(str(spiece), add_bos_token=False, add_eos_token=True, pad_token="<pad>", model_max_length=256, legacy=True)
    parts = dict(text_encoder=UMT5EncoderModel(UMT5Config(vocab_size=len(tokenizer) + 8, pad_token_id=1, eos_token_id=2, **T5)),
                 transformer=AuraFlowTransformer2DModel(**TRANSFORMER),
                 vae=AutoencoderKL(down_block_types=("DownEncoderBlock2D",) * LEVELS, up_block_types=("UpDecoderBlock2D",) * LEVELS, sample_size=64, **VAE))
    for part in parts.values():
        name_weights.fill(part.float())
    with torch.no_grad():
        parts["transformer"].pos_embed.pos_embed.mul_(32.0)
        parts["vae"].decoder.conv_out.weight.mul_(0.4)
    pipe = AuraFlowPipeline(tokenizer=tokenizer, scheduler=FlowMatchEulerDiscreteScheduler(shift=1.73), **parts)
    pipe.to(dtype=torch.float16).save_pretrained(out, safe_serialization=True)
    spiece.unlink()
    for path in out.glob("*/*config.json"):
        config = json.loads(path.read_text())
        config.pop("_name_or_path", None)
        path.write_text(json.dumps(config, indent=2) + "\n")
    print(NAME, sorted(p.name for p in (out / "tokenizer").iterdir()), sum(p.stat().st_size for p in out.rglob("*") if p.is_file()), "bytes")


def opened(case, dtype):
    pipe = AuraFlowPipeline.from_pretrained(HERE / NAME, torch_dtype=dtype)
    pipe.set_progress_bar_config(disable=True)
    pipe.scheduler = make_sd3.with_sampler(pipe.scheduler, case)
    return pipe


def prompts_of(pipe, case, batch):
    """The prompts, encoded in f32."""
    with torch.no_grad():
        values = pipe.encode_prompt([case["prompt"]] * batch, [case["negative"]] * batch if "negative" in case else None, case["guidance"] > 1,
                                    max_sequence_length=case.get("max_sequence_length", 256))
    names = ("prompt_embeds", "prompt_attention_mask", "negative_prompt_embeds", "negative_prompt_attention_mask")
    return {name: value for name, value in zip(names, values) if value is not None}


def draw(case, dtype=torch.float32):
    batch = case.get("batch", 1)
    pipe = opened(case, torch.float32)
    told = prompts_of(pipe, case, batch)
    kept = torch.Tensor.float
    if dtype != torch.float32:
        told = {key: value.to(dtype) if "embeds" in key else value for key, value in told.items()}
        pipe.transformer.to(dtype), pipe.vae.to(dtype)
        pipe.text_encoder = None  # its type would be that of the prompts
        torch.Tensor.float = lambda x: x if x.dtype == torch.float64 else kept(x)
    generator = make_sd3.generators(case, batch)
    noise = randn_tensor((batch, 4, case["height"] // 8, case["width"] // 8), generator=generator, dtype=torch.float32)
    try:
        with torch.no_grad():
            return pipe(latents=noise.to(dtype), **told, num_inference_steps=case["steps"], guidance_scale=case["guidance"], generator=generator,
                        output_type="latent", width=case["width"], height=case["height"]).images, pipe
    finally:
        torch.Tensor.float = kept


def make_pictures():
    tensors, cases = {}, {}
    for label, case in CASES.items():
        latents, pipe = draw(case)
        exact, _ = draw(case, torch.float64)
        with torch.no_grad():
            decoded = pipe.vae.decode(latents / pipe.vae.config.scaling_factor, return_dict=False)[0]
        picture = pipe.image_processor.postprocess(decoded, output_type="np")
        picture = torch.from_numpy((picture * 255).round().astype(base.np.uint8))
        record = dict(case, rounding=float(f"{float((latents - exact).norm() / exact.norm()):.1e}"))
        tensors[f"{label}.latents"], tensors[f"{label}.image"] = latents.contiguous(), picture.contiguous()
        cases[label] = record
        print(f"{NAME}.{label}: latents {tuple(latents.shape)} rms {latents.square().mean().sqrt():.3g}, decoded std {decoded.std():.3g}, rounding "
              f"{record['rounding']:.1e}", flush=True)
    versions = dict(torch=torch.__version__, diffusers=diffusers.__version__, transformers=transformers.__version__)
    save_file(tensors, HERE / f"{NAME}.safetensors", metadata={"made by": "tests/e2e/golden/make_aura.py", **versions})
    (HERE / f"{NAME}.json").write_text(json.dumps(dict(versions=versions, cases=cases), indent=1, ensure_ascii=True) + "\n")


if __name__ == "__main__":
    what = [w for w in sys.argv[1:] if w in ("checkpoints", "pictures")] or ["checkpoints", "pictures"]
    if "checkpoints" in what:
        make_checkpoint()
    if "pictures" in what:
        make_pictures()
