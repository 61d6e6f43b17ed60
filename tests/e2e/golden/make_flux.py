"""Goldens of FLUX.1: what diffusers' FluxPipeline and its relatives make of two small checkpoints.

    OMP_NUM_THREADS=1 python make_flux.py [checkpoints] [images]

needs diffusers 0.39.0, transformers 4.57.1, sentencepiece and torch (see tools/oracle-requirements.txt). It writes, beside itself,

    flux_dev/, flux_schnell/   checkpoints as save_pretrained publishes them (weights from their names, see tools/name_weights.py)
    flux.json                  the cases
    flux.safetensors           per case the final latents [n, c, h, w] f32; pictures, masks and control images [H, W, 3] and [H, W] u8

Fill, control and Kontext are flux_dev with another x_embedder, whose weights are those of its name; `edits` and `seeded` of a case say what
a test has to change. `rounding` is the relative L2 distance between the f32 latents and the same run in f64.
"""

import io
import json
import shutil
import sys

import make as base
import numpy as np
import sentencepiece
import torch
from diffusers import (AutoencoderKL, FlowMatchEulerDiscreteScheduler, FluxControlImg2ImgPipeline, FluxControlInpaintPipeline, FluxControlPipeline,
                       FluxFillPipeline, FluxImg2ImgPipeline, FluxInpaintPipeline, FluxKontextPipeline, FluxPipeline, FluxTransformer2DModel)
from diffusers.models.autoencoders import vae as vae_module
from diffusers.utils.torch_utils import randn_tensor
from PIL import Image
from safetensors.torch import save_file
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer, T5Config, T5EncoderModel, T5TokenizerFast

import diffusers
import transformers

HERE, DEMO, name_weights = base.HERE, base.DEMO, base.name_weights

CHECKPOINTS = {
    # As dev: guidance as an input, shift by size; bfloat16.
    "flux_dev": dict(
        dtype=torch.bfloat16,
        clip=dict(hidden_size=12, intermediate_size=24, num_hidden_layers=2, num_attention_heads=3, hidden_act="quick_gelu"),
        t5=dict(d_model=20, d_kv=6, d_ff=24, num_layers=2, num_heads=3, feed_forward_proj="gated-gelu"),
        transformer=dict(in_channels=16, num_layers=2, num_single_layers=2, attention_head_dim=16, num_attention_heads=2, joint_attention_dim=20,
                         pooled_projection_dim=12, guidance_embeds=True, axes_dims_rope=(4, 6, 6)),
        vae=dict(block_out_channels=(4, 8, 8, 8), layers_per_block=1, norm_num_groups=2, latent_channels=4, scaling_factor=0.3611, shift_factor=0.1159,
                 use_quant_conv=False, use_post_quant_conv=False),
        scheduler=dict(num_train_timesteps=1000, shift=3.0, use_dynamic_shifting=True, base_shift=0.5, max_shift=1.15, base_image_seq_len=256,
                       max_image_seq_len=4096),
    ),
    # As schnell: no guidance, no shift; an autoencoder of factor 4 with six channels, other axes, ReLU in T5; float16.
    "flux_schnell": dict(
        dtype=torch.float16,
        clip=dict(hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2, hidden_act="quick_gelu"),
        t5=dict(d_model=12, d_kv=4, d_ff=16, num_layers=1, num_heads=2, feed_forward_proj="relu"),
        transformer=dict(in_channels=24, num_layers=1, num_single_layers=2, attention_head_dim=12, num_attention_heads=2, joint_attention_dim=12,
                         pooled_projection_dim=16, guidance_embeds=False, axes_dims_rope=(2, 4, 6)),
        vae=dict(block_out_channels=(4, 8, 8), layers_per_block=1, norm_num_groups=2, latent_channels=6, scaling_factor=0.5, shift_factor=-0.2,
                 use_quant_conv=False, use_post_quant_conv=False),
        scheduler=dict(num_train_timesteps=1000, shift=1.0, use_dynamic_shifting=False),
    ),
}

SMALL = dict(checkpoint="flux_dev", kind="text", width=64, height=48, steps=4, guidance=3.5, seed=1, length=24, prompt="a red house on green hills")
IMAGE, PAINT = dict(SMALL, kind="image", seed=5), dict(SMALL, kind="paint", seed=6)
FILL = dict(SMALL, kind="paint", variant="fill", seed=7)
CONTROL = dict(SMALL, kind="control", variant="control", seed=8)
KONTEXT = dict(SMALL, kind="kontext", variant="kontext", seed=9)
SCHNELL = dict(SMALL, checkpoint="flux_schnell", width=40, height=56, guidance=1.0)
CASES = {
    "default": dict(SMALL),
    "guidance": dict(SMALL, guidance=1.0),
    "two_prompts": dict(SMALL, prompt_2="a sailing boat at night, two pine trees", length=9),
    "long": dict(SMALL, prompt=base.LONG, seed=3),
    "unicode": dict(SMALL, prompt=base.UNICODE, seed=2),
    "empty_prompt": dict(SMALL, prompt=""),
    "true_cfg": dict(SMALL, negative="snow, night", true_cfg=2.5),
    "true_cfg_empty": dict(SMALL, negative="", true_cfg=4.0, guidance=2.0),
    "true_cfg_two": dict(SMALL, negative="snow", negative_2="the moon", true_cfg=1.5),
    "true_cfg_one": dict(SMALL, negative="not used", true_cfg=1.0),
    "one_step": dict(SMALL, steps=1),
    "twelve_steps": dict(SMALL, steps=12, width=32, height=80),
    "tiny": dict(SMALL, width=16, height=16, steps=3),
    "batch": dict(SMALL, batch=2, seed=40, width=32, height=32),
    "batch_one_generator": dict(SMALL, batch=2, seed=41, width=32, height=32, compat="diffusers"),
    "karras": dict(SMALL, edits={"scheduler/scheduler_config.json": {"use_karras_sigmas": True}}),
    "terminal": dict(SMALL, edits={"scheduler/scheduler_config.json": {"shift_terminal": 0.1}}),
    "static": dict(SMALL, edits={"scheduler/scheduler_config.json": {"use_dynamic_shifting": False}}),
    "schnell": dict(SCHNELL),
    "schnell_one_step": dict(SCHNELL, steps=1, width=72, height=8),
    "schnell_true_cfg": dict(SCHNELL, negative="rain", true_cfg=3.0),
    "image_060": dict(IMAGE, strength=0.6),
    "image_030": dict(IMAGE, strength=0.3, steps=7),  # three calls: rounded up
    "image_100": dict(IMAGE, strength=1.0),
    "image_true_cfg": dict(IMAGE, strength=0.5, negative="night", true_cfg=2.0),
    "image_batch": dict(IMAGE, strength=0.6, batch=2, seed=50, compat="diffusers"),
    "image_schnell": dict(IMAGE, checkpoint="flux_schnell", width=40, height=56, guidance=1.0, strength=0.75),
    "paint_060": dict(PAINT, strength=0.6),
    "paint_100": dict(PAINT, strength=1.0),
    "paint_batch": dict(PAINT, strength=0.8, batch=2, seed=60, compat="diffusers"),
    "fill": dict(FILL, strength=1.0, guidance=4.0),
    "fill_050": dict(FILL, strength=0.5),
    "fill_batch": dict(FILL, strength=1.0, batch=2, seed=70, compat="diffusers"),
    "control": dict(CONTROL),
    "control_stretched": dict(CONTROL, control_size=[50, 70], guidance=5.0),
    "control_batch": dict(CONTROL, batch=2, seed=80, compat="diffusers"),
    "control_image_batch": dict(CONTROL, with_image=True, strength=0.6, batch=2, seed=81, compat="diffusers"),
    "control_paint_batch": dict(CONTROL, with_image=True, with_mask=True, strength=0.6, batch=2, seed=82, compat="diffusers"),
    "control_image": dict(CONTROL, with_image=True, strength=0.6),
    "control_paint": dict(CONTROL, with_image=True, with_mask=True, strength=0.6),
    "kontext": dict(KONTEXT, references=[[64, 48]]),
    "kontext_other_size": dict(KONTEXT, references=[[70, 35]], negative="rain", true_cfg=2.0),
    "kontext_two": dict(KONTEXT, references=[[32, 64], [48, 16]]),
    "kontext_none": dict(KONTEXT, references=[]),
    "kontext_batch": dict(KONTEXT, references=[[32, 32]], batch=2, seed=90, compat="diffusers"),
}
PIPELINES = {("text", None): FluxPipeline, ("image", None): FluxImg2ImgPipeline, ("paint", None): FluxInpaintPipeline, ("paint", "fill"): FluxFillPipeline,
             ("control", "control"): FluxControlPipeline, ("kontext", "kontext"): FluxKontextPipeline}


def picture(width, height, phase=0):
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    planes = [127.5 + 100 * np.sin(x / (5 + c) + y / (7 - c) + c + phase) + 20 * np.cos(x * y / 50) for c in range(3)]
    return np.clip(np.stack(planes, -1).round(), 0, 255).astype(np.uint8)


def mask(width, height):  # a disc with a soft rim, not in the middle
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    away = np.hypot(x - 0.6 * width, y - 0.45 * height)
    return np.clip(((0.3 * min(width, height) + 6 - away) * 20).round(), 0, 255).astype(np.uint8)


def spiece_model():
    """A SentencePiece model of T5's kind with a few pieces."""
    words = (base.LONG + " a sailing boat at night two pine trees the moon snow rain hot air balloon over desert lighthouse by sea dawn").split()
    text = [" ".join(words[i:i + 7]) for i in range(0, len(words), 5)] + ["l'été, 赤い家!"] * 3
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(text), model_writer=model, model_type="unigram", vocab_size=96, pad_id=0, eos_id=1,
                                             unk_id=2, bos_id=-1, normalization_rule_name="identity", character_coverage=1.0, minloglevel=2,
                                             num_threads=1, hard_vocab_limit=False)
    return model.getvalue()


def make_checkpoint(name):
    spec, out = CHECKPOINTS[name], HERE / name
    shutil.rmtree(out, ignore_errors=True)
    words = len(json.loads((DEMO / "tokenizer/vocab.json").read_text()))
    tokenizer = CLIPTokenizer(str(DEMO / "tokenizer/vocab.json"), str(DEMO / "tokenizer/merges.txt"), model_max_length=77, pad_token="<|endoftext|>")
    pieces = HERE / "spiece.model"
    pieces.write_bytes(spiece_model())
    tokenizer_2 = T5TokenizerFast(str(pieces), extra_ids=4, model_max_length=512, legacy=True)
    pieces.unlink()
    clip = CLIPTextModel(CLIPTextConfig(vocab_size=words, bos_token_id=words - 2, eos_token_id=words - 1, pad_token_id=words - 1, **spec["clip"]))
    t5 = T5EncoderModel(T5Config(vocab_size=-(-len(tokenizer_2) // 8) * 8, **spec["t5"]))
    transformer = FluxTransformer2DModel(**spec["transformer"])
    levels = len(spec["vae"]["block_out_channels"])
    vae = AutoencoderKL(down_block_types=("DownEncoderBlock2D",) * levels, up_block_types=("UpDecoderBlock2D",) * levels, sample_size=64, **spec["vae"])
    for part in (clip, t5, transformer, vae):
        name_weights.fill(part)
    t5.encoder.embed_tokens.weight = t5.shared.weight
    with torch.no_grad():
        vae.decoder.conv_out.weight *= 0.4
    pipe = FluxPipeline(scheduler=FlowMatchEulerDiscreteScheduler(**spec["scheduler"]), vae=vae, text_encoder=clip, tokenizer=tokenizer, text_encoder_2=t5,
                        tokenizer_2=tokenizer_2, transformer=transformer)
    pipe.to(dtype=spec["dtype"]).save_pretrained(out, safe_serialization=True)
    for path in out.glob("*/*config.json"):
        config = json.loads(path.read_text())
        config.pop("_name_or_path", None)
        path.write_text(json.dumps(config, indent=2) + "\n")
    print(name, sum(p.stat().st_size for p in out.rglob("*") if p.is_file()), "bytes")


def changes_of(case):
    """What a test changes in the checkpoint: configurations, and tensors whose values are those of their names."""
    edits, seeded = dict(case.get("edits", {})), {}
    variant = case.get("variant")
    if variant:
        spec = CHECKPOINTS[case["checkpoint"]]
        C, factor = spec["vae"]["latent_channels"], 2 ** (len(spec["vae"]["block_out_channels"]) - 1)
        channels = {"fill": 8 * C + 4 * factor * factor, "control": 8 * C, "kontext": 4 * C}[variant]
        cls = {"fill": "FluxFillPipeline", "control": "FluxControlPipeline", "kontext": "FluxKontextPipeline"}[variant]
        edits["model_index.json"] = {"_class_name": cls}
        if variant != "kontext":
            edits["transformer/config.json"] = {"in_channels": channels, "out_channels": 4 * C}
            width = spec["transformer"]["attention_head_dim"] * spec["transformer"]["num_attention_heads"]
            seeded["transformer"] = {"x_embedder.weight": [width, channels]}
    return edits, seeded


def opened(case, dtype):
    pipe = FluxPipeline.from_pretrained(HERE / case["checkpoint"], torch_dtype=torch.float32)
    edits, seeded = changes_of(case)
    if "transformer/config.json" in edits:
        old = pipe.transformer
        new = FluxTransformer2DModel.from_config({**old.config, **edits["transformer/config.json"]})
        state = old.state_dict()
        for name, shape in seeded["transformer"].items():
            state[name] = torch.from_numpy(name_weights.tensor(name, shape))
        new.load_state_dict(state)
        pipe.transformer = new.eval()
    if "scheduler/scheduler_config.json" in edits:
        pipe.scheduler = FlowMatchEulerDiscreteScheduler.from_config({**pipe.scheduler.config, **edits["scheduler/scheduler_config.json"]})
    embeds = embeddings(pipe, case, dtype)
    parts = {k: v for k, v in pipe.components.items() if k not in ("image_encoder", "feature_extractor")}
    cls = PIPELINES.get((case["kind"], case.get("variant")))
    if case.get("with_image"):
        cls = FluxControlInpaintPipeline if case.get("with_mask") else FluxControlImg2ImgPipeline
    pipe = cls(**parts)
    pipe.transformer.to(dtype), pipe.vae.to(dtype)
    pipe.set_progress_bar_config(disable=True)
    return pipe, embeds


def embeddings(pipe, case, dtype):
    """The prompts, encoded in f32."""
    batch = case.get("batch", 1)
    with torch.no_grad():
        text, pooled, _ = pipe.encode_prompt([case["prompt"]] * batch, [case.get("prompt_2", case["prompt"])] * batch, max_sequence_length=case["length"])
        out = dict(prompt_embeds=text.to(dtype), pooled_prompt_embeds=pooled.to(dtype))
        if "negative" in case:
            text, pooled, _ = pipe.encode_prompt([case["negative"]] * batch, [case.get("negative_2", case["negative"])] * batch,
                                                 max_sequence_length=case["length"])
            out |= dict(negative_prompt_embeds=text.to(dtype), negative_pooled_prompt_embeds=pooled.to(dtype), true_cfg_scale=case["true_cfg"])
    return out


def noise_as_in_f32(shape, generator=None, device=None, dtype=None, layout=None):
    return randn_tensor(shape, generator=generator, device=device, dtype=torch.float32).to(dtype)


for name in ("", "_img2img", "_inpaint", "_fill", "_control", "_control_img2img", "_control_inpaint", "_kontext"):
    getattr(diffusers.pipelines.flux, f"pipeline_flux{name}", None)
    sys.modules[f"diffusers.pipelines.flux.pipeline_flux{name}"].randn_tensor = noise_as_in_f32
vae_module.randn_tensor = noise_as_in_f32


def with_two_references(pipe, case, embeds, generator, images):
    """The loop of FluxKontextPipeline with several references side by side: their positions begin with 1, 2 …"""
    n, W, H = case.get("batch", 1), case["width"], case["height"]
    latents, _, ids, _ = pipe.prepare_latents(None, n, pipe.latent_channels, H, W, torch.float64 if pipe.transformer.dtype == torch.float64 else
                                              torch.float32, "cpu", generator)
    tokens = []
    for index, image in enumerate(images):
        x = pipe.image_processor.preprocess(image, image.height // 16 * 16, image.width // 16 * 16).to(latents.dtype)
        z = pipe._encode_vae_image(x, None).expand(n, -1, -1, -1)
        tokens.append(pipe._pack_latents(z, n, pipe.latent_channels, *z.shape[2:]))
        more = pipe._prepare_latent_image_ids(n, z.shape[2] // 2, z.shape[3] // 2, "cpu", latents.dtype)
        more[..., 0] = index + 1
        ids = torch.cat([ids, more])
    seq = latents.shape[1]
    c = pipe.scheduler.config
    slope = (c.max_shift - c.base_shift) / (c.max_image_seq_len - c.base_image_seq_len)
    pipe.scheduler.set_timesteps(sigmas=np.linspace(1.0, 1 / case["steps"], case["steps"]), mu=seq * slope + c.base_shift - slope * c.base_image_seq_len)
    text_ids = torch.zeros(embeds["prompt_embeds"].shape[1], 3, dtype=latents.dtype)
    for t in pipe.scheduler.timesteps:
        v = pipe.transformer(hidden_states=torch.cat([latents, *tokens], 1), timestep=t.expand(n).to(latents.dtype) / 1000,
                             guidance=torch.full([n], case["guidance"], dtype=torch.float32), pooled_projections=embeds["pooled_prompt_embeds"],
                             encoder_hidden_states=embeds["prompt_embeds"], txt_ids=text_ids, img_ids=ids).sample[:, :seq]
        latents = pipe.scheduler.step(v, t, latents).prev_sample
    return latents


@torch.no_grad()
def draw(case, dtype):
    pipe, embeds = opened(case, dtype)
    batch, seed, W, H = case.get("batch", 1), case["seed"], case["width"], case["height"]
    generator = torch.Generator().manual_seed(seed) if case.get("compat") == "diffusers" else [torch.Generator().manual_seed(seed + k) for k in range(batch)]
    if batch == 1:
        generator = torch.Generator().manual_seed(seed)
    given = dict(width=W, height=H, num_inference_steps=case["steps"], guidance_scale=case["guidance"], generator=generator, output_type="latent", **embeds)
    if case["kind"] in ("image", "paint") or case.get("with_image"):
        given |= dict(image=Image.fromarray(picture(W, H)), strength=case["strength"])
    if case["kind"] == "paint" or case.get("with_mask"):
        given["mask_image"] = Image.fromarray(mask(W, H))
    if case["kind"] == "control":
        given["control_image"] = Image.fromarray(picture(*case.get("control_size", [W, H]), phase=2))
    references = [Image.fromarray(picture(*size, phase=3 + i)) for i, size in enumerate(case.get("references", []))]
    if len(references) > 1:
        packed = with_two_references(pipe, case, embeds, generator, references)
    else:
        if references:
            given |= dict(image=references[0], max_area=W * H, _auto_resize=False)
        if case["kind"] == "kontext":
            given.setdefault("max_area", W * H)
        packed = pipe(**given).images
        if len(references) == 1 and "negative" not in case:
            again = torch.Generator().manual_seed(seed)
            pipe.scheduler = type(pipe.scheduler).from_config(pipe.scheduler.config)
            assert torch.allclose(with_two_references(pipe, case, embeds, again, references), packed, atol=1e-5)
    return pipe._unpack_latents(packed, H, W, pipe.vae_scale_factor)


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
        edits, seeded = changes_of(case)
        record = {k: v for k, v in case.items() if k not in ("edits", "variant")} | {"rounding": float(f"{float((latents - exact).norm() / exact.norm()):.1e}")}
        record |= {k: v for k, v in (("edits", edits), ("seeded", seeded)) if v}
        W, H = case["width"], case["height"]
        if case["kind"] in ("image", "paint") or case.get("with_image"):
            tensors[f"picture.{W}x{H}"] = torch.from_numpy(picture(W, H))
        if case["kind"] == "paint" or case.get("with_mask"):
            tensors[f"mask.{W}x{H}"] = torch.from_numpy(mask(W, H))
        if case["kind"] == "control":
            w, h = case.get("control_size", [W, H])
            tensors[f"control.{w}x{h}"] = torch.from_numpy(picture(w, h, phase=2))
        for i, (w, h) in enumerate(case.get("references", [])):
            tensors[f"reference{i}.{w}x{h}"] = torch.from_numpy(picture(w, h, phase=3 + i))
        tensors[name], cases[name] = latents.float().contiguous(), record
        print(f"{name}: latents {tuple(latents.shape)} rms {latents.square().mean().sqrt():.3g}, rounding {record['rounding']:.1e}", flush=True)
    versions = dict(torch=torch.__version__, diffusers=diffusers.__version__, transformers=transformers.__version__)
    save_file(tensors, HERE / "flux.safetensors", metadata={"made by": "tests/e2e/golden/make_flux.py", **versions})
    (HERE / "flux.json").write_text(json.dumps(dict(versions=versions, cases=cases), indent=1, ensure_ascii=True) + "\n")


if __name__ == "__main__":
    main()
