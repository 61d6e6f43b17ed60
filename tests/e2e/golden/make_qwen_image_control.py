"""Goldens of ControlNets of Qwen-Image: what diffusers makes with them and the small checkpoint of make_qwen_image.py.

    OMP_NUM_THREADS=1 python make_qwen_image_control.py [checkpoints] [NAME …]

needs what that needs; writes control/qwen_…, the networks as save_pretrained publishes them (weights from their names, f16), qwen_image_control.json
(the cases) and qwen_image_control.safetensors: per case the final latents [n, c, h, w] f32, and images.

The pipeline of networks that fill draws the latents of the control image from torch's global generator, so that two runs differ. Here they are the
posterior's mode. The reference has no pipeline that starts from an image with a control network, and none with two networks: for these cases, its
pipelines run a transformer that calls the networks as QwenImageControlNetPipeline does.
"""
import sys

import controls  # in front of torch
import make
import make_flux
import torch
from controls import HERE, one, opened, picked
from diffusers import (QwenImageControlNetInpaintPipeline, QwenImageControlNetModel, QwenImageControlNetPipeline, QwenImageImg2ImgPipeline,
                       QwenImageInpaintPipeline, QwenImagePipeline)
from diffusers.models.autoencoders.vae import DiagonalGaussianDistribution
from diffusers.models.controlnets.controlnet_qwenimage import QwenImageMultiControlNetModel
from PIL import Image

UNION = dict(in_channels=16, out_channels=4, num_layers=1, attention_head_dim=12, num_attention_heads=2, joint_attention_dim=24, axes_dims_rope=(4, 4, 4))
NETWORKS = {
    "qwen_union": UNION,
    "qwen_deep": dict(UNION, num_layers=2),  # as many blocks as the transformer: each adds to one
    "qwen_fill": dict(UNION, extra_condition_channels=4),
    "qwen_wide": dict(UNION, num_attention_heads=3),  # for another transformer
}

SMALL = dict(checkpoint="qwen_image", kind="text", width=64, height=48, steps=4, guidance=4.0, seed=21, prompt="a red house on green hills")
GUIDED = dict(SMALL, negative="snow, night", guidance=2.5)
CASES = {
    "union": dict(SMALL, controls=[one("qwen_union")]),
    "half": dict(GUIDED, width=80, height=32, controls=[one("qwen_union", (70, 90), scale=0.5)]),
    "window": dict(GUIDED, steps=8, controls=[one("qwen_union", start=0.2, end=0.7)]),
    "deep": dict(GUIDED, controls=[one("qwen_deep", seed=1, scale=0.8)]),
    "long": dict(SMALL, prompt=make.LONG, negative="snow", controls=[one("qwen_deep", (100, 40))]),
    "two": dict(GUIDED, compat="diffusers", controls=[one("qwen_union", seed=1, scale=0.7), one("qwen_union", (80, 64), scale=0.9, end=0.7)]),
    "two_networks": dict(GUIDED, compat="diffusers", controls=[one("qwen_union", scale=0.6), one("qwen_deep", seed=1)]),
    "batch": dict(GUIDED, batch=2, controls=[one("qwen_union")]),
    "batch_one_generator": dict(SMALL, batch=2, compat="diffusers", controls=[one("qwen_deep")]),
    "fill": dict(GUIDED, controls=[one("qwen_fill", mask=True)]),
    "fill_wide": dict(SMALL, width=96, height=48, controls=[one("qwen_fill", (100, 40), mask=True, scale=0.8)]),
    "fill_batch": dict(GUIDED, batch=2, controls=[one("qwen_fill", mask=True)]),
    "image": dict(GUIDED, kind="image", strength=0.6, controls=[one("qwen_union")]),
    "paint": dict(GUIDED, kind="paint", strength=0.8, compat="diffusers", controls=[one("qwen_union", scale=0.8)]),
}
drawn = DiagonalGaussianDistribution.sample
DiagonalGaussianDistribution.sample = lambda self, generator=None: self.mode() if generator is None else drawn(self, generator)


def encoded(pipe, image, case, generator):
    """The tokens of a control image, as QwenImageControlNetPipeline makes them."""
    n = case.get("batch", 1)
    pixels = pipe.image_processor.preprocess(image, height=case["height"], width=case["width"]).repeat_interleave(n, 0).unsqueeze(2)
    mean, std = (torch.tensor(values).view(1, -1, 1, 1, 1) for values in (pipe.vae.config.latents_mean, pipe.vae.config.latents_std))
    latents = (pipe.vae.encode(pixels).latent_dist.sample(generator) - mean) * (1.0 / std)
    return pipe._pack_latents(latents.permute(0, 2, 1, 3, 4), n, latents.shape[1], *latents.shape[-2:])


def add_networks(transformer, nets, images, scales):
    """Lets the transformer add what the networks output under the prompt, which is its first call at a timestep."""
    forward, last = transformer.forward, [None, None]

    def controlled(hidden_states, timestep, encoder_hidden_states, img_shapes, **rest):
        if last[0] != timestep[0]:
            outputs = [net(hidden_states=hidden_states, controlnet_cond=image, conditioning_scale=scale, timestep=timestep,
                           encoder_hidden_states=encoder_hidden_states, img_shapes=img_shapes, return_dict=False)
                       for net, image, scale in zip(nets, images, scales)]
            per_block = len(transformer.transformer_blocks)
            last[:] = timestep[0], [sum(o[i // (per_block // len(o))] for o in outputs) for i in range(per_block)]
        return forward(hidden_states=hidden_states, timestep=timestep, encoder_hidden_states=encoder_hidden_states, img_shapes=img_shapes,
                       controlnet_block_samples=last[1], **rest)

    transformer.forward = controlled


@torch.no_grad()
def draw(case, tensors):
    given, W, H, n = case["controls"], case["width"], case["height"], case.get("batch", 1)
    images, generator = controls.control_images(given, tensors), controls.generators(case)
    options = dict(prompt=case["prompt"], num_inference_steps=case["steps"], true_cfg_scale=case["guidance"], generator=generator, output_type="latent",
                   num_images_per_prompt=n, width=W, height=H)
    if "negative" in case:
        options["negative_prompt"] = case["negative"]
    pipe = QwenImagePipeline.from_pretrained(HERE / case["checkpoint"], torch_dtype=torch.float32)
    names = [c["network"] for c in given]
    scales = [c.get("scale", 1.0) for c in given]
    if case["kind"] == "text" and len(set(names)) == 1:
        net = opened(QwenImageControlNetModel, names[0])
        options |= dict(control_image=picked(images), controlnet_conditioning_scale=picked(scales), control_guidance_start=picked([c.get("start", 0.0) for c in given]),
                        control_guidance_end=picked([c.get("end", 1.0) for c in given]))
        cls = QwenImageControlNetPipeline
        if "mask" in given[0]:
            cls, pixels = QwenImageControlNetInpaintPipeline, make_flux.mask(*given[0]["size"])
            tensors["mask.{}x{}".format(*given[0]["size"])] = torch.from_numpy(pixels)
            options["control_mask"] = Image.fromarray(pixels)
        pipe = cls(**pipe.components, controlnet=QwenImageMultiControlNetModel([net]) if len(given) > 1 else net)
    else:
        add_networks(pipe.transformer, [opened(QwenImageControlNetModel, name) for name in names], [encoded(pipe, image, case, generator) for image in images], scales)
        pipe = {"text": QwenImagePipeline, "image": QwenImageImg2ImgPipeline, "paint": QwenImageInpaintPipeline}[case["kind"]](**pipe.components)
    if case["kind"] != "text":
        image, mask = controls.painting(make_flux, W, H, tensors)
        options |= dict(image=image, strength=case["strength"])
    if case["kind"] == "paint":
        options["mask_image"] = mask
    pipe.set_progress_bar_config(disable=True)
    return pipe._unpack_latents(pipe(**options).images, H, W, pipe.vae_scale_factor)[:, :, 0]


def main():
    if "checkpoints" in sys.argv[1:]:
        for name, config in NETWORKS.items():
            controls.make_network(name, QwenImageControlNetModel(**config))
    controls.write("qwen_image_control", CASES, draw)


if __name__ == "__main__":
    main()
