"""Goldens of Stable Cascade: what diffusers' StableCascadeCombinedPipeline makes of small checkpoints.

    OMP_NUM_THREADS=1 python make_stable_cascade.py [checkpoints] [pictures]

Writes, beside itself, the two repositories in which the model is published, and the cases:

    stable_cascade/          decoder, vqgan, text encoder (weights are a function of their names, tools/name_weights.py)
    stable_cascade_prior/    prior, image encoder, the same text encoder
    stable_cascade.json      the cases
    stable_cascade.safetensors   per case the final latents [n, c, h, w] f32, the images [n, H, W, 3] u8; reference images [H, W, 3] u8
"""

import json
import shutil
import sys

import make as base
import make_flux
import make_sd3
import torch
from diffusers import DDPMWuerstchenScheduler, StableCascadeCombinedPipeline, StableCascadeDecoderPipeline, StableCascadePriorPipeline, StableCascadeUNet
from diffusers.pipelines.deprecated.wuerstchen.modeling_paella_vq_model import PaellaVQModel
from diffusers.pipelines.stable_cascade import pipeline_stable_cascade, pipeline_stable_cascade_prior
from diffusers.schedulers import scheduling_ddpm_wuerstchen
from PIL import Image
from safetensors.torch import save_file
from transformers import (CLIPImageProcessor, CLIPTextConfig, CLIPTextModelWithProjection, CLIPTokenizer, CLIPVisionConfig,
                          CLIPVisionModelWithProjection)

import diffusers
import transformers

HERE, name_weights = base.HERE, base.name_weights
TEXT = dict(hidden_size=12, intermediate_size=24, num_hidden_layers=3, num_attention_heads=3, hidden_act="gelu", projection_dim=10)
VISION = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, image_size=14, patch_size=7, projection_dim=6)
RESIDUAL, TIMESTEP, ATTENTION = "SDCascadeResBlock", "SDCascadeTimestepBlock", "SDCascadeAttnBlock"
ALL = [RESIDUAL, TIMESTEP, ATTENTION]
PRIOR = dict(in_channels=16, out_channels=16, timestep_ratio_embedding_dim=16, patch_size=1, conditioning_dim=12, block_out_channels=[16, 16],
             num_attention_heads=[2, 4], down_num_layers_per_block=[1, 2], up_num_layers_per_block=[2, 1], down_blocks_repeat_mappers=[1, 1],
             up_blocks_repeat_mappers=[1, 1], block_types_per_layer=[ALL, ALL], clip_text_in_channels=12, clip_text_pooled_in_channels=10,
             clip_image_in_channels=6, clip_seq=4, dropout=[0.1, 0.1], timestep_conditioning_type=["sca", "crp"], switch_level=[False])
DECODER = dict(in_channels=4, out_channels=4, timestep_ratio_embedding_dim=16, patch_size=2, conditioning_dim=10, block_out_channels=[8, 12, 16],
               num_attention_heads=[-1, 2, 4], down_num_layers_per_block=[1, 2, 1], up_num_layers_per_block=[1, 2, 1], down_blocks_repeat_mappers=[1, 1, 1],
               up_blocks_repeat_mappers=[3, 2, 2], block_types_per_layer=[[RESIDUAL, TIMESTEP], ALL, ALL], clip_text_pooled_in_channels=10, clip_seq=4,
               effnet_in_channels=16, pixel_mapper_in_channels=3, dropout=[0, 0.1, 0.1], timestep_conditioning_type=["sca"])

SMALL = dict(width=128, height=128, steps=5, guidance=4.0, decoder_steps=3, decoder_guidance=0.0, seed=1, prompt="a red house on green hills")
CASES = {
    "default": dict(SMALL, steps=20, decoder_steps=10),
    "negative": dict(SMALL, negative="snow, night, rain", width=168, height=128),
    "guided_decoder": dict(SMALL, negative="snow, night", decoder_guidance=1.5, width=128, height=256),
    "decoder_alone_guided": dict(SMALL, negative="snow", guidance=2.0, decoder_guidance=3.0, seed=8),
    "no_guidance": dict(SMALL, guidance=1.0, negative="not used"),
    "long": dict(SMALL, prompt=base.LONG, negative=base.LONG[::-1], seed=3),
    "empty_prompt": dict(SMALL, prompt="", seed=4),
    "batch": dict(SMALL, batch=2, seed=40),
    "batch_one_generator": dict(SMALL, batch=2, compat="diffusers", seed=41, decoder_guidance=1.2),
    "image": dict(SMALL, references=[[40, 56]]),
    "two_images": dict(SMALL, references=[[40, 56], [31, 17]], negative="snow", seed=6),
    "rounded_up": dict(SMALL, width=150, height=100, seed=7),
}


def make_checkpoints():
    vocabulary = json.loads((base.DEMO / "tokenizer/vocab.json").read_text())
    tokenizer = CLIPTokenizer(str(base.DEMO / "tokenizer/vocab.json"), str(base.DEMO / "tokenizer/merges.txt"), model_max_length=77, pad_token="!")
    start, end = len(vocabulary) - 2, len(vocabulary) - 1
    text = CLIPTextModelWithProjection(CLIPTextConfig(vocab_size=len(vocabulary), bos_token_id=start, eos_token_id=end, pad_token_id=1, **TEXT))
    vision = CLIPVisionModelWithProjection(CLIPVisionConfig(**VISION))
    prior, decoder = StableCascadeUNet(**PRIOR), StableCascadeUNet(**DECODER)
    vqgan = PaellaVQModel(embed_dim=16, bottleneck_blocks=2, num_vq_embeddings=4)
    for part in (text, vision, prior, decoder, vqgan):
        name_weights.fill(part.float())
    with torch.no_grad():
        vqgan.out_block[0].weight.mul_(0.0008), vqgan.out_block[0].bias.add_(0.5)
    scheduler = DDPMWuerstchenScheduler()
    processor = CLIPImageProcessor(size=dict(shortest_edge=14), crop_size=dict(height=14, width=14))
    pipes = {
        "stable_cascade": StableCascadeDecoderPipeline(decoder=decoder, tokenizer=tokenizer, text_encoder=text, scheduler=scheduler, vqgan=vqgan),
        "stable_cascade_prior": StableCascadePriorPipeline(tokenizer=tokenizer, text_encoder=text, prior=prior, scheduler=scheduler,
                                                           feature_extractor=processor, image_encoder=vision),
    }
    for name, pipe in pipes.items():
        out = HERE / name
        shutil.rmtree(out, ignore_errors=True)
        pipe.to(dtype=torch.bfloat16).save_pretrained(out, safe_serialization=True)
        for path in out.glob("*/*config.json"):
            config = json.loads(path.read_text())
            config.pop("_name_or_path", None)
            path.write_text(json.dumps(config, indent=2) + "\n")
        print(name, sum(p.stat().st_size for p in out.rglob("*") if p.is_file()), "bytes")


def opened(dtype):
    diffusers.PaellaVQModel = PaellaVQModel  # 0.39.0 looks for it there
    decoder = StableCascadeDecoderPipeline.from_pretrained(HERE / "stable_cascade", torch_dtype=dtype)
    prior = StableCascadePriorPipeline.from_pretrained(HERE / "stable_cascade_prior", torch_dtype=dtype)
    both = StableCascadeCombinedPipeline(tokenizer=decoder.tokenizer, text_encoder=decoder.text_encoder, decoder=decoder.decoder, scheduler=decoder.scheduler,
                                         vqgan=decoder.vqgan, prior_prior=prior.prior, prior_text_encoder=prior.text_encoder, prior_tokenizer=prior.tokenizer,
                                         prior_scheduler=prior.scheduler, prior_feature_extractor=prior.feature_extractor,
                                         prior_image_encoder=prior.image_encoder)
    for pipe in (both.prior_pipe, both.decoder_pipe):
        pipe.set_progress_bar_config(disable=True)
    return both


def pictures_of(case):
    return [make_flux.picture(*size, phase=3 + i) for i, size in enumerate(case.get("references", []))]


@torch.no_grad()
def draw(case, dtype=torch.float32):
    torch.set_default_dtype(dtype)
    pipe, seen = opened(dtype), {}
    decode = pipe.decoder_pipe.__class__.__call__

    def spying(self, image_embeddings, **options):
        seen["prior"] = image_embeddings
        return decode(self, image_embeddings=image_embeddings, **options)

    pipe.decoder_pipe.__class__.__call__ = spying
    images = [Image.fromarray(picture) for picture in pictures_of(case)] or None
    kept = torch.Tensor.float
    if dtype == torch.float64:
        torch.Tensor.float = lambda x: x if x.dtype == torch.float64 else kept(x)
    try:
        latents = pipe(prompt=case["prompt"], images=images, height=case["height"], width=case["width"], prior_num_inference_steps=case["steps"],
                       prior_guidance_scale=case["guidance"], num_inference_steps=case["decoder_steps"], decoder_guidance_scale=case["decoder_guidance"],
                       negative_prompt=case.get("negative"), num_images_per_prompt=case.get("batch", 1),
                       generator=make_sd3.generators(case, case.get("batch", 1)), output_type="latent").images
    finally:
        torch.Tensor.float = kept
        torch.set_default_dtype(torch.float32)
        pipe.decoder_pipe.__class__.__call__ = decode
    picture = pipe.vqgan.decode(pipe.vqgan.config.scale_factor * latents).sample.clamp(0, 1).permute(0, 2, 3, 1)
    return seen["prior"], latents, (picture * 255).round().to(torch.uint8)


def make_pictures():
    tensors, cases = {}, {}
    for label, case in CASES.items():
        prior, latents, picture = draw(case)
        _, exact, _ = draw(case, torch.float64)
        record = dict(case, rounding=float(f"{float((latents - exact).norm() / exact.norm()):.1e}"))
        for i, image in enumerate(pictures_of(case)):
            tensors[f"{label}.reference_{i}"] = torch.from_numpy(image).contiguous()
        tensors |= {f"{label}.latents": latents.contiguous(), f"{label}.image": picture.contiguous()}
        cases[label] = record
        print(f"{label}: prior {tuple(prior.shape)} rms {prior.square().mean().sqrt():.3g}, latents {tuple(latents.shape)} rms "
              f"{latents.square().mean().sqrt():.3g}, picture std {picture.float().std():.3g}, rounding {record['rounding']:.1e}", flush=True)
    versions = dict(torch=torch.__version__, diffusers=diffusers.__version__, transformers=transformers.__version__)
    save_file(tensors, HERE / "stable_cascade.safetensors", metadata={"made by": "tests/e2e/golden/make_stable_cascade.py", **versions})
    (HERE / "stable_cascade.json").write_text(json.dumps(dict(versions=versions, cases=cases), indent=1) + "\n")


def main():
    for module in (scheduling_ddpm_wuerstchen, pipeline_stable_cascade, pipeline_stable_cascade_prior):
        module.randn_tensor = base.noise_as_in_f32
    what = sys.argv[1:] or ["checkpoints", "pictures"]
    if "checkpoints" in what:
        make_checkpoints()
    if "pictures" in what:
        make_pictures()


if __name__ == "__main__":
    main()
