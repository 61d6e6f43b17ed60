"""Goldens of image prompts: what diffusers' FluxPriorReduxPipeline and FluxPipeline make of a small prior and the checkpoint flux_dev.

    OMP_NUM_THREADS=1 python make_flux_redux.py

needs what make_flux.py needs, and its checkpoint. It writes, beside itself,

    flux_redux/              the prior as save_pretrained publishes it, without text encoders (weights from their names, tools/name_weights.py)
    flux_redux.json          the cases
    flux_redux.safetensors   per case the final latents [n, c, h, w] f32; reference images [H, W, 3] u8

The text encoders of a case with a prompt are those of flux_dev; a case without has the reference's zeros. Scales are the pipeline's
prompt_embeds_scale and pooled_prompt_embeds_scale.
"""

import json
import shutil

import make as base
import make_flux
import torch
from diffusers import FluxImg2ImgPipeline, FluxPipeline, FluxPriorReduxPipeline
from diffusers.pipelines.flux.modeling_flux import ReduxImageEncoder
from PIL import Image
from safetensors.torch import save_file
from transformers import SiglipImageProcessor, SiglipVisionConfig, SiglipVisionModel

import diffusers
import transformers

HERE, name_weights = base.HERE, base.name_weights
WIDTH = make_flux.CHECKPOINTS["flux_dev"]["t5"]["d_model"]

PLAIN = dict(checkpoint="flux_dev", kind="redux", width=48, height=32, steps=3, guidance=3.5, seed=4, prompt="a red house on green hills")
CASES = {
    "one": dict(PLAIN, references=[[40, 56]]),
    "two": dict(PLAIN, references=[[40, 56], [31, 17]], scales=[1.0, 0.5], pooled_scales=[0.7, 0.4]),
    "scaled": dict(PLAIN, references=[[40, 56]], scales=[0.3]),
    "without_text": dict(PLAIN, prompt="", references=[[40, 56], [31, 17]], scales=[0.8, 0.6]),
    "two_prompts": dict(PLAIN, prompt_2="a sailing boat at night", references=[[31, 17]]),
    "true_cfg": dict(PLAIN, references=[[40, 56]], negative="snow, night", true_cfg=2.5),
    "batch": dict(PLAIN, references=[[31, 17]], batch=2, seed=30, compat="diffusers"),
    "image": dict(PLAIN, references=[[40, 56]], with_image=True, strength=0.6),
}


def make_prior():
    out = HERE / "flux_redux"
    shutil.rmtree(out, ignore_errors=True)
    tower = SiglipVisionModel(SiglipVisionConfig(hidden_size=12, intermediate_size=20, num_hidden_layers=2, num_attention_heads=2, image_size=22, patch_size=5))
    embedder = ReduxImageEncoder(redux_dim=12, txt_in_features=WIDTH)
    for part in (tower, embedder):
        name_weights.fill(part)
    processor = SiglipImageProcessor(size=dict(height=22, width=22))
    pipe = FluxPriorReduxPipeline(image_encoder=tower, feature_extractor=processor, image_embedder=embedder)
    pipe.to(dtype=torch.bfloat16).save_pretrained(out, safe_serialization=True)
    for path in out.glob("*/*config.json"):
        config = json.loads(path.read_text())
        config.pop("_name_or_path", None)
        path.write_text(json.dumps(config, indent=2) + "\n")
    print("flux_redux", sum(p.stat().st_size for p in out.rglob("*") if p.is_file()), "bytes")


@torch.no_grad()
def draw(case, dtype):
    pipe = FluxPipeline.from_pretrained(HERE / "flux_dev", torch_dtype=torch.float32)
    prior = FluxPriorReduxPipeline.from_pretrained(HERE / "flux_redux", torch_dtype=torch.float32)
    images = [Image.fromarray(make_flux.picture(*size, phase=3 + i)) for i, size in enumerate(case["references"])]
    n = len(images)
    text = {}
    if case["prompt"]:  # as the prior encodes it with text encoders, for each image
        states, pooled, _ = pipe.encode_prompt([case["prompt"]] * n, [case.get("prompt_2", case["prompt"])] * n, max_sequence_length=512)
        prior.text_encoder, prior.text_encoder_2 = pipe.text_encoder, pipe.text_encoder_2
        text = dict(prompt_embeds=states, pooled_prompt_embeds=pooled)
    else:  # the reference's zeros have the published widths
        made_zeros = torch.zeros
        torch.zeros = lambda shape, **options: made_zeros((n, 512, WIDTH) if len(shape) == 3 else (n, pipe.text_encoder.config.hidden_size), **options)
    given = prior(images, prompt_embeds_scale=case.get("scales", 1.0), pooled_prompt_embeds_scale=case.get("pooled_scales", 1.0), **text)
    if not case["prompt"]:
        torch.zeros = made_zeros
    batch, seed = case.get("batch", 1), case["seed"]
    embeds = dict(prompt_embeds=given.prompt_embeds.repeat(batch, 1, 1).to(dtype), pooled_prompt_embeds=given.pooled_prompt_embeds.repeat(batch, 1).to(dtype))
    negative = None
    if "negative" in case:
        negative = [x.to(dtype) for x in pipe.encode_prompt([case["negative"]], [case["negative"]], max_sequence_length=512)]
        pipe.encode_prompt = with_negative(pipe.encode_prompt, negative)
        embeds |= dict(negative_prompt=case["negative"], true_cfg_scale=case["true_cfg"])
    if case.get("with_image"):
        pipe = FluxImg2ImgPipeline(**{k: v for k, v in pipe.components.items() if k not in ("image_encoder", "feature_extractor")})
        embeds |= dict(image=Image.fromarray(make_flux.picture(case["width"], case["height"])), strength=case["strength"])
    pipe.transformer.to(dtype), pipe.vae.to(dtype)
    pipe.set_progress_bar_config(disable=True)
    packed = pipe(width=case["width"], height=case["height"], num_inference_steps=case["steps"], guidance_scale=case["guidance"],
                  generator=torch.Generator().manual_seed(seed), output_type="latent", **embeds).images
    return pipe._unpack_latents(packed, case["height"], case["width"], pipe.vae_scale_factor)


def with_negative(encode_prompt, negative):
    """The pipeline accepts a negative prompt of another length only as text; here it is encoded in f32."""
    def encode(*args, prompt_embeds=None, **options):
        return negative if prompt_embeds is None else encode_prompt(*args, prompt_embeds=prompt_embeds, **options)
    return encode


def main():
    make_prior()
    tensors, cases = {}, {}
    for name, case in CASES.items():
        latents, exact = draw(case, torch.float32), draw(case, torch.float64)
        tensors[name] = latents.float().contiguous()
        cases[name] = case | {"rounding": float(f"{float((latents - exact).norm() / exact.norm()):.1e}")}
        for i, (w, h) in enumerate(case["references"]):
            tensors[f"reference{i}.{w}x{h}"] = torch.from_numpy(make_flux.picture(w, h, phase=3 + i))
        if case.get("with_image"):
            tensors[f"picture.{case['width']}x{case['height']}"] = torch.from_numpy(make_flux.picture(case["width"], case["height"]))
        print(f"{name}: latents {tuple(latents.shape)} rms {latents.square().mean().sqrt():.3g}, rounding {cases[name]['rounding']:.1e}", flush=True)
    versions = dict(torch=torch.__version__, diffusers=diffusers.__version__, transformers=transformers.__version__)
    save_file(tensors, HERE / "flux_redux.safetensors", metadata={"made by": "tests/e2e/golden/make_flux_redux.py", **versions})
    (HERE / "flux_redux.json").write_text(json.dumps(dict(versions=versions, cases=cases), indent=1, ensure_ascii=True) + "\n")


if __name__ == "__main__":
    main()
