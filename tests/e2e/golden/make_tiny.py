"""Goldens of pipelines whose autoencoder is a small one: what diffusers draws with AutoencoderTiny in the place of the checkpoint's own.

    OMP_NUM_THREADS=1 python make_tiny.py

needs diffusers 0.39.0, transformers 4.57.1 and torch; writes tiny.safetensors: per case the final latents [1, 4, h, w] f32, of "text" the picture
[H, W, 3] u8 too. The autoencoder has the published geometry and weights from their names; pictures and masks are those of editing.safetensors.
"""

import sys
from pathlib import Path

import diffusers
import torch
from diffusers import (AutoencoderTiny, StableDiffusionImg2ImgPipeline, StableDiffusionInpaintPipeline, StableDiffusionPipeline)
from PIL import Image
from safetensors.torch import save_file

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import make  # noqa: E402
import make_editing  # noqa: E402
import name_weights  # noqa: E402

torch.set_num_threads(1)

# The sampler draws noise, so that the order of all draws shows.
BASE = dict(make_editing.BASE, sampler="euler_ancestral", strength=0.6)
PIPELINES = {"text": StableDiffusionPipeline, "image": StableDiffusionImg2ImgPipeline, "paint": StableDiffusionInpaintPipeline}


def main():
    tensors = {}
    vae = AutoencoderTiny().float().eval()
    name_weights.fill(vae)
    for kind, pipeline in PIPELINES.items():
        pipe = pipeline.from_pretrained(HERE / BASE["checkpoint"], torch_dtype=torch.float32, safety_checker=None, vae=vae)
        pipe.set_progress_bar_config(disable=True)
        pipe.scheduler = make.with_sampler(pipe.scheduler, BASE)
        W, H = BASE["width"], BASE["height"]

        def draw(**output):
            options = dict(prompt=BASE["prompt"], negative_prompt=BASE["negative"], num_inference_steps=BASE["steps"],
                           guidance_scale=BASE["guidance"], generator=torch.Generator().manual_seed(BASE["seed"]))
            if kind == "text":
                options |= dict(width=W, height=H)
            else:
                options |= dict(image=Image.fromarray(make_editing.picture(W, H)), strength=BASE["strength"])
            if kind == "paint":
                options |= dict(mask_image=Image.fromarray(make_editing.mask(W, H)), width=W, height=H)
            return pipe(**options, **output).images

        tensors[kind] = draw(output_type="latent").contiguous()
        if kind == "text":
            tensors["text.picture"] = torch.from_numpy((draw(output_type="np")[0] * 255).round().astype("uint8")).contiguous()
        print(f"{kind}: rms {tensors[kind].square().mean().sqrt():.3g}", flush=True)
    print(f"picture: mean {tensors['text.picture'].float().mean():.1f}, deviation {tensors['text.picture'].float().std():.1f}")
    versions = dict(torch=torch.__version__, diffusers=diffusers.__version__)
    save_file(tensors, HERE / "tiny.safetensors", metadata={"made by": "tests/e2e/golden/make_tiny.py", **versions})


if __name__ == "__main__":
    main()
