"""Goldens of image prompts: what diffusers makes with IP-Adapters and the small checkpoints of make.py and make_xl.py.

    OMP_NUM_THREADS=1 python make_image_prompts.py

needs diffusers 0.39.0, transformers 4.57.1, peft 0.21.2 (for the LoRA in FaceID files) and torch; writes image_prompts/encoder, a CLIP vision tower as save_pretrained publishes it,
image_prompts/NAME.safetensors, adapters by the published names (weights from their names, f16), image_prompts.json (the cases) and
image_prompts.safetensors: per case the final latents [n, c, h, w] f32, the pictures, and the images of make_editing.py.
"""

import json
import os
import sys
import warnings
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
warnings.filterwarnings("ignore")

import diffusers  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from diffusers import (StableDiffusionImg2ImgPipeline, StableDiffusionInpaintPipeline, StableDiffusionPipeline, StableDiffusionXLImg2ImgPipeline,  # noqa: E402
                       StableDiffusionXLInpaintPipeline, StableDiffusionXLPipeline, UNet2DConditionModel)
from diffusers.image_processor import IPAdapterMaskProcessor  # noqa: E402
from PIL import Image  # noqa: E402
from safetensors.torch import save_file  # noqa: E402
from transformers import CLIPImageProcessor, CLIPVisionConfig, CLIPVisionModelWithProjection  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import make  # noqa: E402
import make_editing  # noqa: E402
import name_weights  # noqa: E402

torch.set_num_threads(1)
OUT = HERE / "image_prompts"
ENCODER = dict(hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=3, image_size=28, patch_size=7, projection_dim=10, hidden_act="gelu")
STATES, VECTOR, FACE, RANK = ENCODER["hidden_size"], ENCODER["projection_dim"], 16, 3


def linear(name, out, into, bias=True):
    return {f"{name}.weight": (out, into), **({f"{name}.bias": (out,)} if bias else {})}


def norm(name, width):
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


def resampler(width, hidden, tokens, layers, heads):
    shapes = {"latents": (1, tokens, hidden), **linear("proj_in", hidden, STATES), **linear("proj_out", width, hidden), **norm("norm_out", width)}
    for i in range(layers):
        a, f = f"layers.{i}.0", f"layers.{i}.1"
        shapes |= {**norm(f"{a}.norm1", hidden), **norm(f"{a}.norm2", hidden), **linear(f"{a}.to_q", 64 * heads, hidden, False),
                   **linear(f"{a}.to_kv", 128 * heads, hidden, False), **linear(f"{a}.to_out", hidden, 64 * heads, False),
                   **norm(f"{f}.0", hidden), **linear(f"{f}.1", 4 * hidden, hidden, False), **linear(f"{f}.3", hidden, 4 * hidden, False)}
    return shapes


def face(width):
    return {**linear("proj.0", 2 * FACE, FACE), **linear("proj.2", 4 * width, 2 * FACE), **norm("norm", width)}


def face_plus(width):
    resampled = {f"perceiver_resampler.{k}": v for k, v in resampler(width, width, 4, 4, 1).items() if k != "latents"}
    return {**linear("proj.0", 2 * FACE, FACE), **linear("proj.2", 4 * width, 2 * FACE), **norm("norm", width), **resampled}


def vector(width):
    return {**linear("proj", 4 * width, VECTOR), **norm("norm", width)}


# name: checkpoint, tensors of the projection for the width of its text states
ADAPTERS = {
    "plain": ("pndm", vector),
    "other": ("pndm", vector),
    "plus": ("pndm", lambda width: resampler(width, 20, 3, 4, 1)),
    "full": ("pndm", lambda width: {**linear("proj.0", STATES, STATES), **linear("proj.2", width, STATES), **norm("proj.3", width)}),
    "v": ("ddim_v", vector),
    "xl": ("xl", vector),
    "xl_plus": ("xl", lambda width: resampler(width, 16, 5, 4, 1)),
    "face": ("pndm", face),  # with a LoRA of all attentions, as all published ones have
    "face_plus": ("pndm", face_plus),
    "xl_face": ("xl", face),
}

BASE = dict(checkpoint="pndm", kind="text", width=64, height=64, steps=6, guidance=5.0, seed=11, prompt="a red house on green hills", negative="night")
WITH_XL = dict(BASE, checkpoint="xl")


def one(name, size=(40, 30), seed=0, **settings):
    return dict(adapter=name, **(dict(size=list(size)) if size else {}), seed=seed, **settings)


CASES = {
    "plain": dict(BASE, prompts=[one("plain")]),
    "half": dict(BASE, prompts=[one("plain", (30, 64), scale=0.5)]),
    "beyond": dict(BASE, prompts=[one("plain", scale=1.4)]),
    "one": dict(BASE, guidance=1.0, negative=None, prompts=[one("plain")]),
    "empty": dict(BASE, negative=None, prompts=[one("plain")]),
    "plus": dict(BASE, prompts=[one("plus")]),
    "plus_odd": dict(BASE, width=104, height=40, prompts=[one("plus", (28, 28), scale=0.8)]),
    "full": dict(BASE, prompts=[one("full", (90, 20), scale=0.7)]),
    "two": dict(BASE, prompts=[one("plain", scale=0.7), one("plus", (28, 50), seed=1, scale=0.6)]),
    "same_twice": dict(BASE, prompts=[one("plain", scale=0.7), one("other", seed=1, scale=0.5)]),
    "batch": dict(BASE, batch=2, sampler="euler_ancestral", prompts=[one("plain")]),
    "mask": dict(BASE, prompts=[one("plain", mask=[64, 64])]),
    "mask_two": dict(BASE, width=104, height=40, prompts=[one("plain", mask=[104, 40]), one("plus", seed=1, scale=0.8, mask=[50, 70])]),
    "image": dict(BASE, kind="image", steps=10, strength=0.55, prompts=[one("plain")]),
    "paint": dict(BASE, kind="paint", steps=10, strength=0.6, sampler="euler", prompts=[one("plus")]),
    "v": dict(BASE, checkpoint="ddim_v", prompts=[one("v")]),
    "xl": dict(WITH_XL, prompts=[one("xl")]),
    "xl_plus": dict(WITH_XL, prompts=[one("xl_plus", scale=0.6)]),
    "xl_image": dict(WITH_XL, kind="image", steps=10, strength=0.55, prompts=[one("xl")]),
    "xl_paint": dict(WITH_XL, kind="paint", steps=10, strength=0.6, prompts=[one("xl", mask=[64, 64])]),
    "face": dict(BASE, prompts=[one("face", None, face=True)]),
    "face_half": dict(BASE, prompts=[one("face", None, face=True, seed=1, scale=0.5)]),
    "face_one": dict(BASE, guidance=1.0, negative=None, prompts=[one("face", None, face=True)]),
    "face_plus": dict(BASE, prompts=[one("face_plus", face=True, scale=0.8)]),
    "face_plus_v2": dict(BASE, width=104, height=40, prompts=[one("face_plus", (28, 50), seed=1, face=True, shortcut=True)]),
    "xl_face": dict(WITH_XL, prompts=[one("xl_face", None, face=True)]),
}
PIPELINES = {("text", False): StableDiffusionPipeline, ("image", False): StableDiffusionImg2ImgPipeline, ("paint", False): StableDiffusionInpaintPipeline,
             ("text", True): StableDiffusionXLPipeline, ("image", True): StableDiffusionXLImg2ImgPipeline, ("paint", True): StableDiffusionXLInpaintPipeline}


def make_encoder():
    net = CLIPVisionModelWithProjection(CLIPVisionConfig(**ENCODER))
    name_weights.fill(net)
    net.half().save_pretrained(OUT / "encoder")


def make_adapters():
    OUT.mkdir(exist_ok=True)
    for name, (checkpoint, projection) in ADAPTERS.items():
        unet = UNet2DConditionModel.from_pretrained(HERE / checkpoint / "unet", torch_dtype=torch.float32)
        width = unet.config.cross_attention_dim
        shapes = {f"image_proj.{key}": shape for key, shape in projection(width).items()}
        attends = [key for key in unet.attn_processors if key.endswith("attn2.processor")]
        for i, key in enumerate(attends):
            for what in ("to_k_ip", "to_v_ip"):
                shapes[f"ip_adapter.{2 * i + 1}.{what}.weight"] = (unet.get_submodule(key.removesuffix(".processor")).inner_dim, width)
        if "face" in name:
            for i, key in enumerate(unet.attn_processors):
                attention = unet.get_submodule(key.removesuffix(".processor"))
                for layer in ("to_q", "to_k", "to_v", "to_out"):
                    module = attention.to_out[0] if layer == "to_out" else getattr(attention, layer)
                    shapes[f"ip_adapter.{i}.{layer}_lora.down.weight"] = (RANK, module.in_features)
                    shapes[f"ip_adapter.{i}.{layer}_lora.up.weight"] = (module.out_features, RANK)
        seed = "second." if name == "other" else ""
        save_file({key: torch.from_numpy(name_weights.tensor(seed + key, shape)).half().contiguous() for key, shape in shapes.items()}, OUT / f"{name}.safetensors")


def prompt_picture(width, height, seed):
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    planes = [127.5 + 120 * np.cos(x / (4 + c + seed) + y / (7 - c) + seed) * np.sin(x * y / (70 + 30 * seed) + c) for c in range(3)]
    return np.clip(np.stack(planes, -1).round(), 0, 255).astype(np.uint8)


def prompt_mask(width, height, seed):
    y, x = np.mgrid[0:height, 0:width]
    inside = (x > width // 4) & (y < 3 * height // 4) if seed == 0 else (x + y < (width + height) // 2)
    return np.where(inside, 255, 0).astype(np.uint8)


def draw(case, tensors):
    prompts, xl = case["prompts"], case["checkpoint"] == "xl"
    W, H, n = case["width"], case["height"], case.get("batch", 1)
    encoder = CLIPVisionModelWithProjection.from_pretrained(OUT / "encoder", torch_dtype=torch.float32).eval()
    extra = dict(add_watermarker=False) if xl else dict(safety_checker=None)
    pipe = PIPELINES[case["kind"], xl].from_pretrained(HERE / case["checkpoint"], image_encoder=encoder, feature_extractor=None, torch_dtype=torch.float32, **extra)
    pipe.load_ip_adapter(str(OUT), subfolder="", weight_name=[f"{p['adapter']}.safetensors" for p in prompts], image_encoder_folder=None)
    pipe.set_ip_adapter_scale([p.get("scale", 1.0) for p in prompts])
    images, masks, faces = [], [], []
    for p in prompts:
        if p.get("face"):
            vector = torch.from_numpy(name_weights.tensor("face{}".format(p["seed"]), (1, FACE)))
            tensors["face{}".format(p["seed"])] = vector
            faces.append(torch.cat([torch.zeros(1, 1, FACE), vector[None]] if case["guidance"] > 1 else [vector[None]]))
        if "size" not in p:
            continue
        picture = prompt_picture(*p["size"], p["seed"])
        tensors["prompt{}.{}x{}".format(p["seed"], *p["size"])] = torch.from_numpy(picture)
        images.append(Image.fromarray(picture))
        if p.get("mask"):
            mask = prompt_mask(*p["mask"], p["seed"])
            tensors["where{}.{}x{}".format(p["seed"], *p["mask"])] = torch.from_numpy(mask)
            masks.append(IPAdapterMaskProcessor().preprocess(Image.fromarray(mask), height=H, width=W))
    options = dict(prompt=[case["prompt"]] * n, num_inference_steps=case["steps"], guidance_scale=case["guidance"], output_type="latent",
                   generator=[torch.Generator().manual_seed(case["seed"] + k) for k in range(n)], ip_adapter_image=images)
    if faces:  # the image is seen by the adapter's projection alone
        options["ip_adapter_image_embeds"] = faces
        if options.pop("ip_adapter_image"):
            projection = pipe.unet.encoder_hid_proj.image_projection_layers[0]
            pipe.feature_extractor = None
            pixels = CLIPImageProcessor(size=ENCODER["image_size"], crop_size=ENCODER["image_size"])(images[0], return_tensors="pt").pixel_values
            states = [encoder(x, output_hidden_states=True).hidden_states[-2].detach() for x in (torch.zeros_like(pixels), pixels)]
            projection.clip_embeds = torch.stack(states)  # [2, 1, tokens, width]
            projection.shortcut = bool(prompts[0].get("shortcut"))
    if masks:
        options["cross_attention_kwargs"] = {"ip_adapter_masks": masks}
    if case["negative"] is not None:
        options["negative_prompt"] = [case["negative"]] * n
    if case["kind"] != "image":
        options |= dict(width=W, height=H)
    if case["kind"] != "text":
        picture, mask = make_editing.picture(W, H), make_editing.mask(W, H)
        tensors[f"picture.{W}x{H}"], tensors[f"mask.{W}x{H}"] = torch.from_numpy(picture), torch.from_numpy(mask)
        options |= dict(image=[Image.fromarray(picture)] * n, strength=case["strength"])
        if case["kind"] == "paint":
            options["mask_image"] = [Image.fromarray(mask)] * n
    pipe.set_progress_bar_config(disable=True)
    pipe.scheduler = make.with_sampler(pipe.scheduler, case)
    return pipe(**options).images


def main():
    make_adapters()
    make_encoder()
    tensors = {}
    for label, case in CASES.items():
        latents = draw(case, tensors)
        tensors[label] = latents.contiguous()
        print(f"{label}: rms {latents.square().mean().sqrt():.3g}", flush=True)
    records = {k: {a: b for a, b in v.items() if b is not None} for k, v in CASES.items()}
    versions = dict(torch=torch.__version__, diffusers=diffusers.__version__)
    save_file(tensors, HERE / "image_prompts.safetensors", metadata={"made by": "tests/e2e/golden/make_image_prompts.py", **versions})
    (HERE / "image_prompts.json").write_text(json.dumps(dict(versions=versions, cases=records), indent=1) + "\n")


if __name__ == "__main__":
    main()
