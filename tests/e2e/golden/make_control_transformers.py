"""Goldens of ControlNets of Stable Diffusion 3 and FLUX.1: what diffusers makes with them and the small checkpoints of make_sd3.py and make_flux.py.

    OMP_NUM_THREADS=1 python make_control_transformers.py [checkpoints] [NAME …]

needs what those need; writes control/NAME, the networks as save_pretrained publishes them (weights from their names, f16), single files in
control/authors, control_transformers.json (the cases) and control_transformers.safetensors: per case the final latents [n, c, h, w] f32, and images.

The pipelines of Stable Diffusion 3 draw the latents of the control image from torch's global generator, so that two runs differ. Here they are the
posterior's mode.
"""
import sys

import controls  # in front of torch
import make_editing
import make_flux
import make_sd3  # noqa: F401  # lets its pipelines draw noise in f32
import torch
from controls import HERE, one, opened, picked
from diffusers import (FluxControlNetImg2ImgPipeline, FluxControlNetInpaintPipeline, FluxControlNetModel, FluxControlNetPipeline, FluxPipeline,
                       SD3ControlNetModel, StableDiffusion3ControlNetInpaintingPipeline, StableDiffusion3ControlNetPipeline)
from diffusers.image_processor import VaeImageProcessor
from diffusers.models.autoencoders.vae import DiagonalGaussianDistribution
from PIL import Image

SD3 = dict(num_layers=2, num_attention_heads=2, attention_head_dim=8, joint_attention_dim=40, caption_projection_dim=16, pooled_projection_dim=26,
           pos_embed_max_size=12, sample_size=8)
ALONE = dict(num_layers=2, num_attention_heads=2, attention_head_dim=8, joint_attention_dim=None, caption_projection_dim=16, pooled_projection_dim=26,
             pos_embed_max_size=None, pos_embed_type=None, use_pos_embed=False, force_zeros_for_pooled_projection=False, sample_size=8)
FLUX = dict(in_channels=16, num_layers=1, num_single_layers=1, attention_head_dim=16, num_attention_heads=2, joint_attention_dim=20,
            pooled_projection_dim=12, guidance_embeds=True, axes_dims_rope=[4, 6, 6])
NETWORKS = {
    "sd3_pose": (SD3ControlNetModel, SD3),
    "sd3_tile": (SD3ControlNetModel, dict(SD3, num_layers=1, force_zeros_for_pooled_projection=False)),
    "sd3_deep": (SD3ControlNetModel, dict(SD3, num_layers=3)),  # as many blocks as the transformer: each adds to one
    "sd3_fill": (SD3ControlNetModel, dict(SD3, extra_conditioning_channels=1)),
    "sd3_alone": (SD3ControlNetModel, ALONE),
    "sd35_dual": (SD3ControlNetModel, dict(SD3, num_layers=3, attention_head_dim=6, caption_projection_dim=12, qk_norm="rms_norm",
                                           dual_attention_layers=[0, 1], pos_embed_max_size=17)),
    "flux_canny": (FluxControlNetModel, FLUX),
    "flux_depth": (FluxControlNetModel, dict(FLUX, num_layers=2, num_single_layers=0, guidance_embeds=False)),
    "flux_union": (FluxControlNetModel, dict(FLUX, num_mode=7)),
    "flux_pixels": (FluxControlNetModel, dict(FLUX, patch_size=2, conditioning_embedding_channels=4, num_single_layers=0)),
    "flux_schnell": (FluxControlNetModel, dict(FLUX, in_channels=24, attention_head_dim=12, joint_attention_dim=12, pooled_projection_dim=16,
                                               guidance_embeds=False, axes_dims_rope=[2, 4, 6])),
}
MODES = ["canny", "tile", "depth", "blur", "pose", "gray", "lq"]
POSITIONS = 32.0  # as make_sd3.py multiplies the transformer's table

WITH_SD3 = dict(checkpoint="sd3", kind="text", width=64, height=64, steps=5, guidance=5.0, seed=11, prompt="a red house on green hills", negative="night")
WITH_FLUX = dict(checkpoint="flux_dev", kind="text", width=64, height=48, steps=4, guidance=3.5, seed=12, length=24, prompt="a red house on green hills")
CASES = {
    "sd3": dict(WITH_SD3, controls=[one("sd3_pose")]),
    "sd3_half": dict(WITH_SD3, controls=[one("sd3_pose", (100, 70), scale=0.5)]),
    "sd3_one": dict(WITH_SD3, guidance=1.0, negative=None, width=80, height=48, controls=[one("sd3_pose", (80, 48))]),
    "sd3_window": dict(WITH_SD3, steps=8, controls=[one("sd3_pose", start=0.2, end=0.7)]),
    "sd3_tile": dict(WITH_SD3, controls=[one("sd3_tile", seed=1)]),
    "sd3_deep": dict(WITH_SD3, controls=[one("sd3_deep", seed=1, scale=0.8)]),
    "sd3_two": dict(WITH_SD3, controls=[one("sd3_pose", scale=0.6), one("sd3_pose", (80, 64), seed=1, scale=0.9, end=0.7)]),
    "sd3_batch": dict(WITH_SD3, batch=2, controls=[one("sd3_pose")]),
    "sd3_alone": dict(WITH_SD3, controls=[one("sd3_alone", mode="depth")]),
    "sd3_alone_canny": dict(WITH_SD3, width=96, height=32, controls=[one("sd3_alone", (96, 32), mode="canny", scale=0.7)]),
    "sd3_fill": dict(WITH_SD3, controls=[one("sd3_fill", mask=True)]),
    "sd3_fill_wide": dict(WITH_SD3, width=96, height=48, controls=[one("sd3_fill", (100, 40), mask=True, scale=0.8)]),
    "sd35": dict(WITH_SD3, checkpoint="sd35", controls=[one("sd35_dual")]),
    "flux": dict(WITH_FLUX, controls=[one("flux_canny")]),
    "flux_half": dict(WITH_FLUX, width=80, height=32, controls=[one("flux_canny", (70, 90), scale=0.5)]),
    "flux_window": dict(WITH_FLUX, steps=8, controls=[one("flux_canny", start=0.2, end=0.7)]),
    "flux_depth": dict(WITH_FLUX, controls=[one("flux_depth", seed=1)]),
    "flux_union": dict(WITH_FLUX, controls=[one("flux_union", mode="blur")]),
    "flux_union_two": dict(WITH_FLUX, compat="diffusers", controls=[one("flux_union", mode="pose", scale=0.6), one("flux_union", seed=1, mode="canny")]),
    "flux_two": dict(WITH_FLUX, compat="diffusers", controls=[one("flux_canny", seed=1, scale=0.7), one("flux_canny", scale=0.9, end=0.8)]),
    "flux_pixels": dict(WITH_FLUX, controls=[one("flux_pixels")]),
    "flux_true_cfg": dict(WITH_FLUX, negative="snow, night", true_cfg=2.5, controls=[one("flux_canny")]),
    "flux_batch": dict(WITH_FLUX, batch=2, controls=[one("flux_canny")]),
    "flux_batch_one_generator": dict(WITH_FLUX, batch=2, compat="diffusers", controls=[one("flux_canny")]),
    "flux_schnell": dict(WITH_FLUX, checkpoint="flux_schnell", width=40, height=56, guidance=1.0, controls=[one("flux_schnell", (40, 56))]),
    "flux_image": dict(WITH_FLUX, kind="image", strength=0.6, controls=[one("flux_canny")]),
    "flux_image_batch": dict(WITH_FLUX, kind="image", strength=0.6, batch=2, compat="diffusers", controls=[one("flux_canny")]),
    "flux_paint": dict(WITH_FLUX, kind="paint", strength=0.8, controls=[one("flux_canny", scale=0.8)]),
    "flux_paint_batch": dict(WITH_FLUX, kind="paint", strength=0.8, batch=2, compat="diffusers", controls=[one("flux_union", mode="depth")]),
}
drawn = DiagonalGaussianDistribution.sample
DiagonalGaussianDistribution.sample = lambda self, generator=None: self.mode() if generator is None else drawn(self, generator)


class CannyProcessor(VaeImageProcessor):
    """As the model card of Stability's network for edges says."""

    def __init__(self, factor):
        super().__init__(vae_scale_factor=factor, do_normalize=False)

    def preprocess(self, image, **kwargs):
        return super().preprocess(image, **kwargs) * 255 * 0.5 + 0.5


def multiply_positions(net):
    table = getattr(getattr(net, "pos_embed", None), "pos_embed", None)
    if table is not None and isinstance(net, SD3ControlNetModel):
        table.mul_(POSITIONS)


def joined(tensors, names):
    return torch.cat([tensors.pop(n) for n in names])


def stability_file(kind):
    """sd3_alone under Stability's names, the reverse of diffusers' convert_sd3_controlnet_to_diffusers.py."""
    t = controls.weights_of("sd3_alone")
    for i in range(2):
        b = f"transformer_blocks.{i}."
        for part in ("weight", "bias"):
            t[f"{b}attn.qkv.{part}"] = joined(t, [f"{b}attn.to_{x}.{part}" for x in "qkv"])
            for old, new in (("attn.to_out.0", "attn.proj"), ("ff.net.0.proj", "mlp.fc1"), ("ff.net.2", "mlp.fc2"), ("norm1.linear", "adaLN_modulation.1")):
                t[f"{b}{new}.{part}"] = t.pop(f"{b}{old}.{part}")
    t["control_type"] = torch.tensor(float(["blur", "canny", "depth"].index(kind)), dtype=torch.float16)
    controls.save_for_authors(f"sd3_{kind}", t)


def xlabs_file():
    """flux_pixels under XLabs' names: Black Forest Labs' for the blocks."""
    t = controls.weights_of("flux_pixels")
    out = {}
    for i in range(1):
        b, d = f"transformer_blocks.{i}.", f"double_blocks.{i}."
        for part in ("weight", "bias"):
            out[f"{d}img_attn.qkv.{part}"] = joined(t, [f"{b}attn.to_{x}.{part}" for x in "qkv"])
            out[f"{d}txt_attn.qkv.{part}"] = joined(t, [f"{b}attn.add_{x}_proj.{part}" for x in "qkv"])
            for old, new in (("norm1.linear", "img_mod.lin"), ("norm1_context.linear", "txt_mod.lin"), ("attn.to_out.0", "img_attn.proj"),
                             ("attn.to_add_out", "txt_attn.proj"), ("ff.net.0.proj", "img_mlp.0"), ("ff.net.2", "img_mlp.2"),
                             ("ff_context.net.0.proj", "txt_mlp.0"), ("ff_context.net.2", "txt_mlp.2")):
                out[f"{d}{new}.{part}"] = t.pop(f"{b}{old}.{part}")
        for old, new in (("norm_q", "img_attn.norm.query_norm"), ("norm_k", "img_attn.norm.key_norm"), ("norm_added_q", "txt_attn.norm.query_norm"),
                         ("norm_added_k", "txt_attn.norm.key_norm")):
            out[f"{d}{new}.scale"] = t.pop(f"{b}attn.{old}.weight")
    ends = {"x_embedder.": "img_in.", "context_embedder.": "txt_in.", "controlnet_x_embedder.": "pos_embed_input.",
            "time_text_embed.timestep_embedder.linear_1.": "time_in.in_layer.", "time_text_embed.timestep_embedder.linear_2.": "time_in.out_layer.",
            "time_text_embed.guidance_embedder.linear_1.": "guidance_in.in_layer.", "time_text_embed.guidance_embedder.linear_2.": "guidance_in.out_layer.",
            "time_text_embed.text_embedder.linear_1.": "vector_in.in_layer.", "time_text_embed.text_embedder.linear_2.": "vector_in.out_layer.",
            "input_hint_block.conv_in.": "input_hint_block.0.", "input_hint_block.conv_out.": "input_hint_block.14."}
    ends |= {f"input_hint_block.blocks.{k}.": f"input_hint_block.{2 * k + 2}." for k in range(6)}
    for name, value in t.items():
        stem, _, part = name.rpartition(".")
        out[ends.get(stem + ".", stem + ".") + part] = value
    controls.save_for_authors("flux_pixels", {k: v.contiguous() for k, v in out.items()})


@torch.no_grad()
def draw(case, tensors):
    given, flux = case["controls"], case["checkpoint"].startswith("flux")
    W, H, n = case["width"], case["height"], case.get("batch", 1)
    net, images = picked([opened(NETWORKS[c["network"]][0], c["network"]) for c in given]), controls.control_images(given, tensors)
    options = dict(num_inference_steps=case["steps"], guidance_scale=case["guidance"], generator=controls.generators(case), output_type="latent",
                   control_image=picked(images), controlnet_conditioning_scale=picked([c.get("scale", 1.0) for c in given]),
                   control_guidance_start=picked([c.get("start", 0.0) for c in given]), control_guidance_end=picked([c.get("end", 1.0) for c in given]),
                   width=W, height=H)
    if case["kind"] != "text":
        image, mask = controls.painting(make_editing, W, H, tensors)
        options |= dict(image=image, strength=case["strength"])
    if case["kind"] == "paint":
        options["mask_image"] = mask
    if flux:
        pipe = FluxPipeline.from_pretrained(HERE / case["checkpoint"], torch_dtype=torch.float32)
        options |= make_flux.embeddings(pipe, dict(case, batch=n), torch.float32)
        cls = {"text": FluxControlNetPipeline, "image": FluxControlNetImg2ImgPipeline, "paint": FluxControlNetInpaintPipeline}[case["kind"]]
        parts = {k: v for k, v in pipe.components.items() if k not in ("image_encoder", "feature_extractor")}
        pipe = cls(**parts, controlnet=net)
        if "mode" in given[0]:
            numbers = [MODES.index(c["mode"]) for c in given]
            options["control_mode"] = picked(numbers)
            if n > 1 and case["kind"] != "text":  # these pipelines make one row of modes
                options["control_mode"] = [numbers[0]] * n
    else:
        fills = any("mask" in c for c in given)
        cls = StableDiffusion3ControlNetInpaintingPipeline if fills else StableDiffusion3ControlNetPipeline
        pipe = cls.from_pretrained(HERE / case["checkpoint"], controlnet=net, torch_dtype=torch.float32)
        options["prompt"] = [case["prompt"]] * n
        if case["negative"] is not None:
            options["negative_prompt"] = [case["negative"]] * n
        if fills:
            size = given[0]["size"]
            mask = make_editing.mask(*size)
            tensors["mask.{}x{}".format(*size)] = torch.from_numpy(mask)
            options["control_mask"] = Image.fromarray(mask)
        if given[0].get("mode") == "canny":
            pipe.image_processor = CannyProcessor(pipe.vae_scale_factor)
    pipe.set_progress_bar_config(disable=True)
    latents = pipe(**options).images
    return FluxPipeline._unpack_latents(latents, H, W, pipe.vae_scale_factor) if flux else latents


def main():
    if "checkpoints" in sys.argv[1:] or not (HERE / "control/sd3_pose").exists():
        for name, (cls, config) in NETWORKS.items():
            controls.make_network(name, cls.from_config(config), multiply_positions)
    for kind in ("canny", "depth"):
        stability_file(kind)
    xlabs_file()
    controls.write("control_transformers", CASES, draw)


if __name__ == "__main__":
    main()
