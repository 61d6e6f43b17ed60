"""Goldens of control networks of Z-Image: what diffusers' ZImageControlNetPipeline and, of kind "paint", ZImageControlNetInpaintPipeline make
with the small checkpoints of make_z_image.py.

    OMP_NUM_THREADS=1 python make_control_z_image.py [NAME …]

needs what those need; writes control/NAME, the networks as save_pretrained writes them (weights from their names, f16), two as they are published, in
control/authors: single files without a configuration, of version 2.0 with the refiner that was never trained; control_z_image.json (the cases) and
control_z_image.safetensors: per case the final latents [n, c, h, w] f32; of some the image [H, W, 3] u8; and the images that they start from.

The pipelines have no start and end: outside them the network's outputs are multiplied by 0.
"""
import sys

import controls  # in front of torch
import make
import make_z_image
import numpy as np
import torch
from controls import HERE, one
from diffusers import ZImageControlNetInpaintPipeline, ZImageControlNetModel, ZImageControlNetPipeline, ZImagePipeline

NET = dict(dim=24, n_heads=2, n_kv_heads=2, n_refiner_layers=1)
NETWORKS = {
    "z_image_v1": dict(NET, control_layers_places=[0], control_refiner_layers_places=[], control_in_dim=4),
    "z_image_v20": dict(NET, control_layers_places=[0, 1], control_refiner_layers_places=[0], control_in_dim=9,
                        add_control_noise_refiner="control_layers"),
    "z_image_v21": dict(NET, control_layers_places=[0, 1], control_refiner_layers_places=[0], control_in_dim=9,
                        add_control_noise_refiner="control_noise_refiner"),
    "z_image_mu": dict(NET, dim=16, n_refiner_layers=2, control_layers_places=[0], control_refiner_layers_places=[0, 1], control_in_dim=13,
                       add_control_noise_refiner="control_noise_refiner"),
}
SMALL = dict(checkpoint="z_image", kind="text", width=64, height=48, steps=4, guidance=5.0, seed=11, prompt="a red house on green hills")
PAINT = dict(SMALL, kind="paint")
CASES = {
    "v1": dict(SMALL, controls=[one("z_image_v1")]),
    "v1_half": dict(SMALL, width=80, height=32, negative="snow, night", controls=[one("z_image_v1", (100, 70), scale=0.5)]),
    "v1_turbo": dict(SMALL, guidance=0.0, steps=8, controls=[one("z_image_v1", seed=1, scale=0.75)]),
    "v1_window": dict(SMALL, steps=8, controls=[one("z_image_v1", start=0.2, end=0.7)]),
    "v1_batch": dict(SMALL, batch=2, controls=[one("z_image_v1")]),
    "v1_batch_one_generator": dict(SMALL, batch=2, compat="diffusers", controls=[one("z_image_v1")]),
    "v1_long": dict(SMALL, prompt=make.LONG, negative="snow", controls=[one("z_image_v1")]),
    "v20": dict(SMALL, controls=[one("z_image_v20")]),
    "v20_tall": dict(SMALL, width=32, height=96, controls=[one("z_image_v20", (32, 96), scale=0.7)]),
    "v21": dict(SMALL, controls=[one("z_image_v21")]),
    "v21_little": dict(SMALL, width=128, height=64, steps=2, controls=[one("z_image_v21", (128, 64), seed=1, scale=0.3)]),
    "fill_20": dict(PAINT, controls=[one("z_image_v20")]),
    "fill_20_tall": dict(PAINT, width=32, height=96, steps=3, controls=[one("z_image_v20", (32, 96), scale=0.7)]),
    "fill_21": dict(PAINT, negative="snow, night", image_golden="fill_21.image", controls=[one("z_image_v21", scale=0.8)]),
    "fill_21_resized": dict(PAINT, width=80, height=32, steps=6, image_size=[90, 60], image_golden="fill_21_resized.image",
                            controls=[one("z_image_v21", (100, 70), scale=0.65)]),
    "fill_21_turbo": dict(PAINT, guidance=0.0, steps=8, prompt=make.LONG, controls=[one("z_image_v21", seed=1, start=0.2, end=0.8)]),
    "fill_mu": dict(PAINT, checkpoint="z_image_mu", width=40, height=56, guidance=2.0, controls=[one("z_image_mu", (40, 56), scale=0.75)]),
    "mu": dict(SMALL, checkpoint="z_image_mu", width=40, height=56, controls=[one("z_image_mu", (40, 56), scale=0.75)]),
}


def published_files():
    """Of 2.0: the networks' own refiner is in the file, its first projection is 0."""
    v20, v21 = (controls.weights_of(name) for name in ("z_image_v20", "z_image_v21"))
    controls.save_for_authors("z_image_v21", v21)
    refiner = {k: torch.zeros_like(v) if k.endswith("proj.weight") else v for k, v in v21.items() if k.startswith("control_noise_refiner.")}
    controls.save_for_authors("z_image_v20", v20 | refiner)


def opened(control, steps):
    net = controls.opened(ZImageControlNetModel, control["network"])
    forward, acts = net.forward, controls.windows(control, steps)
    net.forward = lambda *args, **kwargs: forward(*args, **kwargs) if next(acts) else None
    return net


@torch.no_grad()
def draw(case, tensors):
    control = case["controls"][0]
    image = controls.control_images([control], tensors)[0]
    pipe = ZImagePipeline.from_pretrained(HERE / case["checkpoint"], torch_dtype=torch.float32)
    painted = {}
    if case["kind"] == "paint":
        size = case.get("image_size", [case["width"], case["height"]])
        painted = dict(zip(("image", "mask_image"), controls.painting(make_z_image, *size, tensors)))
    cls = ZImageControlNetInpaintPipeline if painted else ZImageControlNetPipeline
    pipe = cls(**pipe.components, controlnet=opened(control, case["steps"]))
    pipe.set_progress_bar_config(disable=True)
    latents = pipe(case["prompt"], negative_prompt=case.get("negative"), width=case["width"], height=case["height"], num_inference_steps=case["steps"],
                   guidance_scale=case["guidance"], generator=controls.generators(case), output_type="latent",
                   num_images_per_prompt=case.get("batch", 1), control_image=image, controlnet_conditioning_scale=control.get("scale", 1.0),
                   **painted).images
    if "image_golden" in case:
        pixels = pipe.vae.decode(latents / pipe.vae.config.scaling_factor + pipe.vae.config.shift_factor, return_dict=False)[0]
        tensors[case["image_golden"]] = torch.from_numpy(np.asarray(pipe.image_processor.postprocess(pixels, output_type="pil")[0]).copy())
    return latents


def main():
    for name, config in NETWORKS.items():
        controls.make_network(name, ZImageControlNetModel(**config))
    published_files()
    for cls in (ZImageControlNetPipeline, ZImageControlNetInpaintPipeline):
        sys.modules[cls.__module__].randn_tensor = make_z_image.noise_as_in_f32
    controls.write("control_z_image", CASES, draw)


if __name__ == "__main__":
    main()
