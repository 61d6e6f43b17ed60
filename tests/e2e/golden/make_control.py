"""Goldens of control networks: what diffusers makes with ControlNets and T2I-Adapters and the small checkpoints of make.py and make_xl.py.

    OMP_NUM_THREADS=1 python make_control.py [checkpoints] [NAME …]

needs diffusers 0.39.0, transformers 4.57.1 and torch; writes control/NAME, the networks as save_pretrained publishes them (weights from their
names, f16), control.json (the cases) and control.safetensors: per case the final latents [n, c, h, w] f32, and the images of make_editing.py.
"""

import json
import sys

import controls  # in front of torch
import diffusers
import make
import make_editing
import name_weights
import torch
from controls import HERE, one, picked
from diffusers import (ControlNetModel, ControlNetUnionModel, MultiAdapter, StableDiffusionAdapterPipeline, StableDiffusionControlNetImg2ImgPipeline,
                       StableDiffusionControlNetInpaintPipeline, StableDiffusionControlNetPipeline, StableDiffusionXLAdapterPipeline,
                       StableDiffusionXLControlNetImg2ImgPipeline, StableDiffusionXLControlNetInpaintPipeline, StableDiffusionXLControlNetPipeline,
                       StableDiffusionXLControlNetUnionPipeline, T2IAdapter)
from safetensors.torch import load_file

HINT = dict(conditioning_embedding_out_channels=[4, 6, 8, 10])
SD1 = dict(block_out_channels=[8, 16, 24], layers_per_block=1, norm_num_groups=4, attention_head_dim=2, cross_attention_dim=24,
           down_block_types=["CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"], **HINT)
SD2 = dict(block_out_channels=[8, 12], layers_per_block=2, norm_num_groups=2, attention_head_dim=[2, 3], cross_attention_dim=20,
           use_linear_projection=True, down_block_types=["CrossAttnDownBlock2D"] * 2, **HINT)
XL = dict(block_out_channels=[8, 16, 16], layers_per_block=1, norm_num_groups=4, attention_head_dim=[1, 2, 4], cross_attention_dim=32,
          transformer_layers_per_block=[1, 1, 2], use_linear_projection=True, addition_embed_type="text_time", addition_time_embed_dim=6,
          projection_class_embeddings_input_dim=50, down_block_types=["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"], **HINT)
UNION = dict(XL, num_control_type=6, num_trans_channel=8, num_trans_head=2, num_trans_layer=1, num_proj_channel=8)
NETWORKS = {
    "canny": (ControlNetModel, SD1),
    "depth": (ControlNetModel, dict(SD1, controlnet_conditioning_channel_order="bgr")),
    "pools": (ControlNetModel, dict(SD1, global_pool_conditions=True)),
    "v": (ControlNetModel, SD2),
    "xl": (ControlNetModel, XL),
    "union": (ControlNetUnionModel, UNION),
    "t2i": (T2IAdapter, dict(in_channels=3, channels=[8, 16, 24], num_res_blocks=2, downscale_factor=8, adapter_type="full_adapter")),
    "t2i_gray": (T2IAdapter, dict(in_channels=1, channels=[8, 16, 24], num_res_blocks=1, downscale_factor=8, adapter_type="full_adapter")),
    "t2i_light": (T2IAdapter, dict(in_channels=3, channels=[8, 16], num_res_blocks=3, downscale_factor=8, adapter_type="light_adapter")),
    "t2i_xl": (T2IAdapter, dict(in_channels=3, channels=[8, 16, 16, 16], num_res_blocks=2, downscale_factor=16, adapter_type="full_adapter_xl")),
}

def name_of_authors(name, layers):
    """The authors' name of a tensor; its levels have `layers` layers each."""
    resnet = {"norm1": "in_layers.0", "conv1": "in_layers.2", "time_emb_proj": "emb_layers.1", "norm2": "out_layers.0", "conv2": "out_layers.3",
              "conv_shortcut": "skip_connection"}
    p = name.split(".")
    if p[0] == "down_blocks":
        at = 1 + int(p[1]) * (layers + 1)
        if p[2] == "downsamplers":
            return ".".join(["input_blocks", str(at + layers), "0", "op", *p[5:]])
        if p[2] == "resnets":
            return ".".join(["input_blocks", str(at + int(p[3])), "0", resnet[p[4]], *p[5:]])
        return ".".join(["input_blocks", str(at + int(p[3])), "1", *p[4:]])
    if p[0] == "mid_block":
        return ".".join(["middle_block", "1", *p[3:]] if p[1] == "attentions" else ["middle_block", "02"[int(p[2])], resnet[p[3]], *p[4:]])
    if p[0] in ("time_embedding", "add_embedding"):
        first = "time_embed." if p[0] == "time_embedding" else "label_emb.0."
        return first + ("0." if p[1] == "linear_1" else "2.") + p[2]
    if p[0] == "conv_in":
        return ".".join(["input_blocks", "0", "0", *p[1:]])
    if p[0] == "controlnet_down_blocks":
        return ".".join(["zero_convs", p[1], "0", *p[2:]])
    if p[0] == "controlnet_mid_block":
        return ".".join(["middle_block_out", "0", *p[1:]])
    k = {"conv_in": 0, "conv_out": 14}.get(p[1]) if p[1] != "blocks" else 2 * (int(p[2]) + 1)
    return f"input_hint_block.{k}.{p[-1]}"


def make_files():
    """Single files: authors/NAME.safetensors, the same networks under the authors' names; and Control-LoRAs, with the networks that they are."""
    (HERE / "control/authors").mkdir(exist_ok=True)
    for name, prefix in (("canny", "control_model."), ("xl", "")):
        controls.save_for_authors(name, {prefix + name_of_authors(k, 1): v for k, v in controls.weights_of(name).items()})
    for name, checkpoint in (("canny", "pndm"), ("xl", "xl")):
        unet = load_file(HERE / checkpoint / "unet/diffusion_pytorch_model.safetensors")
        whole, stored = {}, {"lora_controlnet": torch.zeros(1, dtype=torch.float16)}
        for key, own in controls.weights_of(name).items():
            new = name_of_authors(key, 1)
            if key not in unet or own.dim() < 2:
                whole[key] = stored[new] = own
            elif "proj_in" in key:  # some weights are the UNet's
                whole[key] = unet[key].float()
            else:
                rows, columns, rank = own.shape[0], own[0].numel(), 2
                up = torch.from_numpy(name_weights.tensor(f"lora.{key}.up", (rows, rank))).half()
                down = torch.from_numpy(name_weights.tensor(f"lora.{key}.down", (rank, columns))).half()
                stem = new.removesuffix(".weight")
                stored[stem + ".up"] = up.reshape(rows, rank, *[1] * (own.dim() - 2)).contiguous()
                stored[stem + ".down"] = down.reshape(rank, *own.shape[1:]).contiguous()
                whole[key] = unet[key].float() + (up.float() @ down.float()).reshape(own.shape)
        controls.save_for_authors(f"{name}_lora", stored)
        LORAS[f"{name}_lora"] = (name, whole)


LORAS = {}
BASE = dict(checkpoint="pndm", kind="text", width=64, height=64, steps=6, guidance=5.0, seed=11, prompt="a red house on green hills", negative="night")
WITH_XL = dict(BASE, checkpoint="xl")


CASES = {
    "plain": dict(BASE, controls=[one("canny")]),
    "half": dict(BASE, controls=[one("canny", scale=0.5)]),
    "one": dict(BASE, guidance=1.0, negative=None, controls=[one("canny")]),
    "resized": dict(BASE, controls=[one("canny", (100, 70))]),
    "smaller": dict(BASE, width=104, height=40, controls=[one("canny", (30, 90))]),
    "bgr": dict(BASE, controls=[one("depth")]),
    "window": dict(BASE, controls=[one("canny", start=0.2, end=0.75)]),
    "window_heun": dict(BASE, sampler="HeunDiscreteScheduler", controls=[one("canny", start=0.2, end=0.6)]),
    "window_euler": dict(BASE, sampler="euler", steps=10, controls=[one("canny", start=0.1, end=0.55)]),
    "guess": dict(BASE, controls=[one("canny", guess=True)]),
    "guess_one": dict(BASE, guidance=1.0, negative=None, controls=[one("canny", scale=0.8, guess=True)]),
    "pools": dict(BASE, controls=[one("pools", scale=0.7)]),
    "two": dict(BASE, controls=[one("canny", scale=0.6), one("depth", (80, 64), seed=1, scale=0.9, end=0.7)]),
    "same_twice": dict(BASE, controls=[one("canny", scale=0.6), one("canny", seed=1, scale=0.3)]),
    "batch": dict(BASE, batch=2, sampler="euler_ancestral", controls=[one("canny")]),
    "image": dict(BASE, kind="image", steps=10, strength=0.55, controls=[one("canny", start=0.1, end=0.9)]),
    "paint": dict(BASE, kind="paint", steps=10, strength=0.6, sampler="euler", controls=[one("canny", end=0.8)]),
    "paint9": dict(BASE, kind="paint", channels=9, strength=1.0, sampler="euler", controls=[one("canny")]),
    "v": dict(BASE, checkpoint="ddim_v", controls=[one("v")]),
    "xl": dict(WITH_XL, controls=[one("xl")]),
    "xl_window": dict(WITH_XL, steps=8, controls=[one("xl", (90, 50), scale=0.8, end=0.5)]),
    "xl_guess": dict(WITH_XL, controls=[one("xl", guess=True)]),
    "xl_two": dict(WITH_XL, controls=[one("xl"), one("xl", seed=1, scale=0.4)]),
    "xl_image": dict(WITH_XL, kind="image", steps=10, strength=0.55, controls=[one("xl")]),
    "xl_paint": dict(WITH_XL, kind="paint", steps=10, strength=0.6, controls=[one("xl")]),
    "union": dict(WITH_XL, controls=[one("union", mode="canny", scale=0.7)]),
    "union_two": dict(WITH_XL, controls=[one("union", mode="depth", scale=0.7), one("union", seed=1, mode="segment", scale=1.1)]),
    "lora": dict(BASE, controls=[one("canny_lora")]),
    "xl_lora": dict(WITH_XL, controls=[one("xl_lora", scale=0.8)]),
    "t2i": dict(BASE, controls=[one("t2i")]),
    "t2i_window": dict(BASE, controls=[one("t2i", scale=0.7, end=0.6)]),
    "t2i_gray": dict(BASE, controls=[one("t2i_gray")]),
    "t2i_odd": dict(BASE, width=104, height=40, controls=[one("t2i", (104, 40))]),
    "t2i_light": dict(BASE, unet=dict(block_out_channels=[8, 16, 16]), controls=[one("t2i_light", scale=0.9)]),
    "t2i_two": dict(BASE, controls=[one("t2i", scale=0.6), one("t2i_gray", seed=1, scale=0.8)]),
    "t2i_xl": dict(WITH_XL, controls=[one("t2i_xl", scale=0.8)]),
    "t2i_xl_window": dict(WITH_XL, controls=[one("t2i_xl", end=0.5)]),
}
for name in ("HeunDiscreteScheduler",):
    make.CLASSES[name] = name
MODES = ["openpose", "depth", "scribble", "canny", "normal", "segment"]
CONTROLNETS = {("text", False): StableDiffusionControlNetPipeline, ("image", False): StableDiffusionControlNetImg2ImgPipeline,
               ("paint", False): StableDiffusionControlNetInpaintPipeline, ("text", True): StableDiffusionXLControlNetPipeline,
               ("image", True): StableDiffusionXLControlNetImg2ImgPipeline, ("paint", True): StableDiffusionXLControlNetInpaintPipeline}


def opened(name):
    if name in LORAS:
        of, weights = LORAS[name]
        net = opened(of)
        net.load_state_dict(weights)
        return net
    return controls.opened(NETWORKS[name][0], name)


def draw(case, tensors):
    given, xl = case["controls"], case["checkpoint"] == "xl"
    nets, images = [opened(c["network"]) for c in given], controls.control_images(given, tensors)
    scales, many = [c.get("scale", 1.0) for c in given], len(given) > 1
    W, H, n = case["width"], case["height"], case.get("batch", 1)
    options = dict(prompt=[case["prompt"]] * n, num_inference_steps=case["steps"], guidance_scale=case["guidance"],
                   generator=controls.generators(case), output_type="latent")
    if case["negative"] is not None:
        options["negative_prompt"] = [case["negative"]] * n
    folder = HERE / case["checkpoint"]
    extra = dict(add_watermarker=False) if xl else dict(safety_checker=None)
    adapter, union = isinstance(nets[0], T2IAdapter), isinstance(nets[0], ControlNetUnionModel)
    if case.get("channels"):
        unet = diffusers.UNet2DConditionModel.from_pretrained(folder / "unet", torch_dtype=torch.float32)
        extra["unet"], tensors[f"conv_in.{case['channels']}"] = make_editing.wide_input(unet, case["channels"])
    if case.get("unet"):  # the widths of its last two levels must be equal for light adapters
        config = json.loads((folder / "unet/config.json").read_text()) | case["unet"]
        extra["unet"] = diffusers.UNet2DConditionModel.from_config(config)
        name_weights.fill(extra["unet"])
        extra["unet"] = extra["unet"].half().float().eval()
    if adapter:
        cls = StableDiffusionXLAdapterPipeline if xl else StableDiffusionAdapterPipeline
        pipe = cls.from_pretrained(folder, adapter=MultiAdapter(nets) if many else nets[0], torch_dtype=torch.float32, **extra)
        gray = [i.convert("L") if net.config.in_channels == 1 else i for i, net in zip(images, nets)]
        options |= dict(image=picked(gray), width=W, height=H, adapter_conditioning_scale=picked(scales))
        if xl:
            options["adapter_conditioning_factor"] = given[0].get("end", 1.0)
    else:
        cls = StableDiffusionXLControlNetUnionPipeline if union else CONTROLNETS[case["kind"], xl]
        pipe = cls.from_pretrained(folder, controlnet=nets[0] if union or not many else nets, torch_dtype=torch.float32, **extra)
        window = dict(control_guidance_start=picked([c.get("start", 0.0) for c in given]), control_guidance_end=picked([c.get("end", 1.0) for c in given]))
        if union:
            window = dict(control_mode=picked([MODES.index(c["mode"]) for c in given]))
        options |= window | dict(controlnet_conditioning_scale=picked(scales), guess_mode=any(c.get("guess") for c in given))
        key = "image" if case["kind"] == "text" else "control_image"
        if n > 1:
            images = [images[0]] * n
        options[key] = images if n > 1 else picked(images)
        if case["kind"] == "text" or case["kind"] == "paint":
            options |= dict(width=W, height=H)
        if union:
            options["control_image"] = options.pop("image")
        if case["kind"] != "text":
            image, mask = controls.painting(make_editing, W, H, tensors)
            options |= dict(image=[image] * n, strength=case["strength"])
        if case["kind"] == "paint":
            options["mask_image"] = [mask] * n
    pipe.set_progress_bar_config(disable=True)
    pipe.scheduler = make.with_sampler(pipe.scheduler, case)
    return cut_adapters(pipe, case)(**options).images if adapter and not xl else pipe(**options).images


def cut_adapters(pipe, case):
    """The pipeline of Stable Diffusion 1.x lets adapters act in all steps; that of XL has adapter_conditioning_factor, which is applied to both."""
    last = int(case["steps"] * case["controls"][0].get("end", 1.0))
    forward, calls = pipe.unet.forward, []

    def counted(*args, **kwargs):
        calls.append(1)
        if len(calls) > last:
            kwargs.pop("down_intrablock_additional_residuals", None)
        return forward(*args, **kwargs)

    if last < case["steps"]:
        pipe.unet.forward = counted
    return pipe


def main():
    if "checkpoints" in sys.argv[1:] or not (HERE / "control").exists():
        for name, (cls, config) in NETWORKS.items():
            controls.make_network(name, cls.from_config(config))
    make_files()
    controls.write("control", CASES, draw)


if __name__ == "__main__":
    main()
