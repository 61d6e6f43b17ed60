"""Goldens of FLUX.1 with a small autoencoder of sixteen channels (TAEF1): what diffusers draws with AutoencoderTiny in the place of the
checkpoint's own.

    OMP_NUM_THREADS=1 python make_flux_tiny.py

needs what make_flux.py needs, and its checkpoint. It writes flux_tiny.json and flux_tiny.safetensors beside itself: per case the final latents
[1, 16, h, w] f32 and the picture [H, W, 3] u8. The transformer is flux_dev's with another x_embedder and proj_out, whose weights are those of their
names, for latents of sixteen channels; the autoencoder has the published geometry and weights from their names.
"""

import json

import make as base
import make_flux
import name_weights
import torch
from diffusers import AutoencoderTiny, FluxImg2ImgPipeline, FluxPipeline, FluxTransformer2DModel
from PIL import Image
from safetensors.torch import save_file

import diffusers

HERE = base.HERE
SMALL = dict(make_flux.SMALL, width=32, height=48, steps=3)
IMAGE = dict(SMALL, kind="image", strength=0.6)
CASES = {
    "text": dict(SMALL, vae={}),
    "image": dict(IMAGE, vae={}),
    "shifted": dict(SMALL, vae=dict(scaling_factor=0.8, shift_factor=0.2)),
    "shifted_image": dict(IMAGE, vae=dict(scaling_factor=0.8, shift_factor=0.2)),
}
SEEDED = {"transformer": {"x_embedder.weight": [32, 64], "proj_out.weight": [64, 32], "proj_out.bias": [64]}}


@torch.no_grad()
def draw(case, dtype):
    pipe = FluxPipeline.from_pretrained(HERE / "flux_dev", torch_dtype=torch.float32)
    transformer = FluxTransformer2DModel.from_config({**pipe.transformer.config, "in_channels": 64})
    state = pipe.transformer.state_dict()
    state |= {name: torch.from_numpy(name_weights.tensor(name, shape)) for name, shape in SEEDED["transformer"].items()}
    transformer.load_state_dict(state)
    vae = AutoencoderTiny(latent_channels=16, **case["vae"]).float().eval()
    name_weights.fill(vae)
    embeds = make_flux.embeddings(pipe, case, dtype)
    parts = {k: v for k, v in pipe.components.items() if k not in ("image_encoder", "feature_extractor")} | dict(transformer=transformer.eval(), vae=vae)
    parts["vae"].config["block_out_channels"] = [64] * 4  # the pipelines take the factor from it
    pipe = (FluxImg2ImgPipeline if case["kind"] == "image" else FluxPipeline)(**parts)
    pipe.transformer.to(dtype), pipe.vae.to(dtype)
    pipe.set_progress_bar_config(disable=True)
    given = dict(width=case["width"], height=case["height"], num_inference_steps=case["steps"], guidance_scale=case["guidance"], **embeds)
    if case["kind"] == "image":
        given |= dict(image=Image.fromarray(make_flux.picture(case["width"], case["height"])), strength=case["strength"])
    seeded = lambda: torch.Generator().manual_seed(case["seed"])
    latents = pipe._unpack_latents(pipe(**given, generator=seeded(), output_type="latent").images, case["height"], case["width"], pipe.vae_scale_factor)
    return latents, pipe(**given, generator=seeded(), output_type="np").images[0]


def main():
    tensors, cases = {}, {}
    for name, case in CASES.items():
        latents, picture = draw(case, torch.float32)
        exact, _ = draw(case, torch.float64)
        tensors[name] = latents.float().contiguous()
        tensors[f"{name}.picture"] = torch.from_numpy((picture * 255).round().astype("uint8")).contiguous()
        cases[name] = case | {"edits": {"transformer/config.json": {"in_channels": 64}}, "seeded": SEEDED,
                              "rounding": float(f"{float((latents - exact).norm() / exact.norm()):.1e}")}
        if case["kind"] == "image":
            tensors[f"picture.{case['width']}x{case['height']}"] = torch.from_numpy(make_flux.picture(case["width"], case["height"]))
        print(f"{name}: latents {tuple(latents.shape)} rms {latents.square().mean().sqrt():.3g}, picture {picture.std() * 255:.1f}", flush=True)
    versions = dict(torch=torch.__version__, diffusers=diffusers.__version__)
    save_file(tensors, HERE / "flux_tiny.safetensors", metadata={"made by": "tests/e2e/golden/make_flux_tiny.py", **versions})
    (HERE / "flux_tiny.json").write_text(json.dumps(dict(versions=versions, cases=cases), indent=1, ensure_ascii=True) + "\n")


if __name__ == "__main__":
    main()
