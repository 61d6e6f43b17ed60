"""Goldens of Stable Diffusion 3: what diffusers' StableDiffusion3Pipeline draws from small checkpoints.

    OMP_NUM_THREADS=1 python make_sd3.py [checkpoints] [pictures] [NAME …]

needs sentencepiece and protobuf too. The files are those of make.py, which says more; weights are a function of their names, but CLIP-L's
projection is the identity, as published, and the position table is multiplied, because its weights by name are as good as zero. The third
tokenizer is a SentencePiece model of 300 pieces, trained here.
"""

import io
import json
import shutil
import sys

import make as base
import sentencepiece
import torch
from diffusers import AutoencoderKL, FlowMatchEulerDiscreteScheduler, SD3Transformer2DModel, StableDiffusion3Pipeline
from diffusers.utils.torch_utils import randn_tensor
from safetensors.torch import save_file
from transformers import CLIPTextConfig, CLIPTextModelWithProjection, CLIPTokenizer, T5Config, T5EncoderModel, T5TokenizerFast

import diffusers
import transformers

HERE, DEMO, name_weights = base.HERE, base.DEMO, base.name_weights
LEVELS = 4
VAE = dict(block_out_channels=(4, 8, 8, 8), layers_per_block=1, norm_num_groups=2, latent_channels=16, scaling_factor=1.5305, shift_factor=0.0609,
           use_quant_conv=False, use_post_quant_conv=False, force_upcast=True)
TEXT = dict(hidden_size=12, intermediate_size=24, num_hidden_layers=4, num_attention_heads=3, hidden_act="quick_gelu", projection_dim=12)
TEXT_2 = dict(hidden_size=20, intermediate_size=40, num_hidden_layers=3, num_attention_heads=5, hidden_act="gelu", projection_dim=14)
T5 = dict(d_model=40, d_kv=8, d_ff=48, num_layers=2, num_heads=4, feed_forward_proj="gated-gelu")

CHECKPOINTS = {
    # As Stable Diffusion 3 medium: no norms of queries and keys; float16.
    "sd3": dict(
        dtype=torch.float16,
        transformer=dict(sample_size=8, patch_size=2, in_channels=16, out_channels=16, num_layers=3, attention_head_dim=8, num_attention_heads=2,
                         joint_attention_dim=40, caption_projection_dim=16, pooled_projection_dim=26, pos_embed_max_size=12),
    ),
    # As 3.5 medium: dual attention in the first blocks, norms, a larger table; bfloat16.
    "sd35": dict(
        dtype=torch.bfloat16,
        transformer=dict(sample_size=8, patch_size=2, in_channels=16, out_channels=16, num_layers=4, attention_head_dim=6, num_attention_heads=2,
                         joint_attention_dim=40, caption_projection_dim=12, pooled_projection_dim=26, pos_embed_max_size=17,
                         dual_attention_layers=[0, 1, 2], qk_norm="rms_norm"),
    ),
}

SMALL = dict(width=64, height=64, steps=5, guidance=7.0, seed=1, prompt="a red house on green hills")
CASES = {
    "sd3": {
        "default": dict(SMALL, size_from_config=True),
        "negative": dict(SMALL, negative="snow, night, rain"),
        "empty_prompt": dict(SMALL, prompt=""),
        "three_prompts": dict(SMALL, prompt_2="a sailing boat at night", prompt_3="a black cat", negative="rain", negative_2="the moon", negative_3="fog"),
        "long": dict(SMALL, prompt=base.LONG, negative=base.LONG[::-1], seed=3),
        "unicode": dict(SMALL, prompt="Ein rotes Haus, l'été </s> a house !!! <extra_id_0> x", seed=2),
        "short_sequence": dict(SMALL, max_sequence_length=7, negative="rain"),
        "one_row": dict(SMALL, max_sequence_length=1),
        "last_layer_but_two": dict(SMALL, clip_skip=3, negative="rain", compat="diffusers"),  # the negative prompt is that of the last but one
        "no_guidance": dict(SMALL, guidance=1.0, negative="not used"),
        "guidance_zero": dict(SMALL, guidance=0.0),
        "one_step": dict(SMALL, steps=1),
        "two_steps": dict(SMALL, steps=2),
        "twenty_steps": dict(SMALL, steps=20, seed=9),
        "wide": dict(SMALL, width=144, height=32, seed=5),
        "tall": dict(SMALL, width=16, height=192, seed=6),  # as tall as the position table
        "heun": dict(SMALL, sampler="heun"),
        "heun_one_step": dict(SMALL, sampler="heun", steps=1),
        "karras": dict(SMALL, schedule="karras"),
        "exponential": dict(SMALL, schedule="exponential"),
        "beta": dict(SMALL, schedule="beta_a1111", steps=7),
        "batch": dict(SMALL, batch=2, seed=40),
        "batch_one_generator": dict(SMALL, batch=2, compat="diffusers", seed=41),
        "no_t5": dict(SMALL, no_t5=True, negative="rain"),
        "no_t5_short": dict(SMALL, no_t5=True, max_sequence_length=9),
    },
    "sd35": {
        "default": dict(SMALL, size_from_config=True),
        "negative": dict(SMALL, negative="snow, night, rain", width=80, height=48),
        "skip_layers": dict(SMALL, steps=12, slg=dict(layers=[1, 2], slg_scale=2.8, start=0.01, stop=0.2)),  # steps 1 and 2
        "skip_more": dict(SMALL, steps=8, slg=dict(layers=[0, 3], slg_scale=1.5, start=0.0, stop=0.75), negative="rain"),
        "skip_never": dict(SMALL, steps=3, slg=dict(layers=[1], slg_scale=2.8, start=0.01, stop=0.2)),
        "skip_batch": dict(SMALL, steps=6, slg=dict(layers=[2], slg_scale=2.0, start=0.1, stop=0.6), batch=2, seed=40),
        "no_t5": dict(SMALL, no_t5=True),
    },
}

base.CLASSES |= {"heun": "FlowMatchHeunDiscreteScheduler"}
CURVES = {"karras": "use_karras_sigmas", "exponential": "use_exponential_sigmas", "beta_a1111": "use_beta_sigmas"}


def pieces():
    """A small model in the way T5's was trained: <pad>, </s>, <unk>, no beginning."""
    words = " ".join(json.loads((DEMO / "tokenizer/vocab.json").read_text())).replace("</w>", " ")
    text = [base.LONG, base.LONG[::-1], "a sailing boat at night", "the moon over the desert", "black cat, city skyline, night, moon", "fog and rain", words]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(text), model_writer=model, vocab_size=300, model_type="unigram", pad_id=0, eos_id=1,
                                             unk_id=2, bos_id=-1, normalization_rule_name="identity", hard_vocab_limit=False, num_threads=1,
                                             max_sentence_length=100000, minloglevel=2)
    return model.getvalue()


def clip(spec, words):
    start, end = words - 2, words - 1
    return CLIPTextModelWithProjection(CLIPTextConfig(vocab_size=words, bos_token_id=start, eos_token_id=end, pad_token_id=end, **spec))


def make_checkpoint(name):
    spec, out = CHECKPOINTS[name], HERE / name
    shutil.rmtree(out, ignore_errors=True)
    words = len(json.loads((DEMO / "tokenizer/vocab.json").read_text()))

    def tokenizer(pad):
        return CLIPTokenizer(str(DEMO / "tokenizer/vocab.json"), str(DEMO / "tokenizer/merges.txt"), model_max_length=77, pad_token=pad)

    spiece = HERE / "spiece.model"
    spiece.write_bytes(pieces())
    tokenizer_3 = T5TokenizerFast(str(spiece), extra_ids=4, model_max_length=512)
    spiece.unlink()
    parts = dict(text_encoder=clip(TEXT, words), text_encoder_2=clip(TEXT_2, words),
                 text_encoder_3=T5EncoderModel(T5Config(vocab_size=len(tokenizer_3) + 8, **T5)),
                 transformer=SD3Transformer2DModel(**spec["transformer"]),
                 vae=AutoencoderKL(down_block_types=("DownEncoderBlock2D",) * LEVELS, up_block_types=("UpDecoderBlock2D",) * LEVELS, sample_size=64, **VAE))
    for part in parts.values():
        name_weights.fill(part.float())
    with torch.no_grad():
        parts["text_encoder"].text_projection.weight.copy_(torch.eye(TEXT["hidden_size"]))
        parts["transformer"].pos_embed.pos_embed.mul_(32.0)
        parts["vae"].decoder.conv_out.weight.mul_(0.4)
    pipe = StableDiffusion3Pipeline(tokenizer=tokenizer("<|endoftext|>"), tokenizer_2=tokenizer("!"), tokenizer_3=tokenizer_3,
                                    scheduler=FlowMatchEulerDiscreteScheduler(shift=3.0), **parts)
    pipe.to(dtype=spec["dtype"]).save_pretrained(out, safe_serialization=True)
    for path in out.glob("*/*config.json"):
        config = json.loads(path.read_text())
        config.pop("_name_or_path", None)
        path.write_text(json.dumps(config, indent=2) + "\n")
    print(name, sum(p.stat().st_size for p in out.rglob("*") if p.is_file()), "bytes")


def with_sampler(scheduler, case):
    if "sampler" not in case and "schedule" not in case:
        return scheduler
    cls = getattr(diffusers, base.CLASSES[case["sampler"]]) if "sampler" in case else type(scheduler)
    extra = {CURVES[case["schedule"]]: True} if "schedule" in case else {}
    return cls.from_config(scheduler.config, **extra)


def opened(name, case, dtype, cls=StableDiffusion3Pipeline):
    without = dict(text_encoder_3=None, tokenizer_3=None) if case.get("no_t5") else {}
    pipe = cls.from_pretrained(HERE / name, torch_dtype=dtype, **without)
    pipe.set_progress_bar_config(disable=True)
    pipe.scheduler = with_sampler(pipe.scheduler, case)
    return pipe


PROMPTS = dict(prompt_2="prompt_2", prompt_3="prompt_3", negative="negative_prompt", negative_2="negative_prompt_2", negative_3="negative_prompt_3")


def prompts_of(pipe, case, batch, dtype):
    """As the pipeline takes them; in f64 as embeddings that were made in f32."""
    told = dict(prompt=[case["prompt"]] * batch) | {name: [case[key]] * batch for key, name in PROMPTS.items() if key in case}
    if "clip_skip" in case:
        told["clip_skip"] = case["clip_skip"] - 2
    length = dict(max_sequence_length=case["max_sequence_length"]) if "max_sequence_length" in case else {}
    if dtype == torch.float32:
        return told | length
    told = {key: value[0] if key.endswith(("_2", "_3")) and batch == 1 else value for key, value in told.items()}
    with torch.no_grad():
        embeds = pipe.encode_prompt(**{"prompt_2": None, "prompt_3": None, **told}, **length, do_classifier_free_guidance=case["guidance"] > 1)
    names = ("prompt_embeds", "negative_prompt_embeds", "pooled_prompt_embeds", "negative_pooled_prompt_embeds")
    return {name: value.to(dtype) for name, value in zip(names, embeds) if value is not None}


def skipping(case):
    if "slg" not in case:
        return {}
    slg = case["slg"]
    return dict(skip_guidance_layers=slg["layers"], skip_layer_guidance_scale=slg["slg_scale"], skip_layer_guidance_start=slg["start"],
                skip_layer_guidance_stop=slg["stop"])


def generators(case, batch):
    if case.get("compat") == "diffusers":
        return torch.Generator().manual_seed(case["seed"])
    return [torch.Generator().manual_seed(case["seed"] + k) for k in range(batch)]


def draw(name, case, dtype=torch.float32):
    batch = case.get("batch", 1)
    pipe = opened(name, case, torch.float32)
    told = prompts_of(pipe, case, batch, dtype)
    scheduler = pipe.scheduler
    if dtype != torch.float32:
        pipe = opened(name, case, dtype)
        pipe.scheduler = scheduler
    generator = generators(case, batch)
    side = pipe.transformer.config.sample_size * pipe.vae_scale_factor
    size = {} if case.get("size_from_config") else dict(width=case["width"], height=case["height"])
    shape = (batch, 16, size.get("height", side) // 8, size.get("width", side) // 8)
    noise = randn_tensor(shape, generator=generator, dtype=torch.float32)
    with torch.no_grad():
        return pipe(latents=noise.to(dtype), **told, **skipping(case), num_inference_steps=case["steps"], guidance_scale=case["guidance"],
                    generator=generator, output_type="latent", **size).images, pipe


def make_pictures(name):
    tensors, cases = {}, {}
    for label, case in CASES[name].items():
        latents, pipe = draw(name, case)
        exact, _ = draw(name, case, torch.float64)
        rounding = float((latents - exact).norm() / exact.norm())
        with torch.no_grad():
            vae = pipe.vae.config
            decoded = pipe.vae.decode(latents / vae.scaling_factor + vae.shift_factor, return_dict=False)[0]
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
    save_file(tensors, HERE / f"{name}.safetensors", metadata={"made by": "tests/e2e/golden/make_sd3.py", **versions})
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
