"""Goldens of editing: what diffusers makes of a picture with the small checkpoints that make.py wrote.

    OMP_NUM_THREADS=1 python make_editing.py

needs diffusers 0.39.0, transformers 4.57.1 and torch; writes editing.json (the cases) and editing.safetensors: per case the final latents
[n, c, h, w] f32, per size and seed the picture [H, W, 3] and the mask [H, W] u8, and the `conv_in.weight` of the UNets that take more
channels (all else of them is the checkpoint's).
"""

import json
import math
import os
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
warnings.filterwarnings("ignore")

import diffusers  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from diffusers import (StableDiffusionImg2ImgPipeline, StableDiffusionInpaintPipeline,  # noqa: E402
                       StableDiffusionInstructPix2PixPipeline, UNet2DConditionModel)
from diffusers.schedulers import scheduling_dpmsolver_sde as dpmsolver_sde  # noqa: E402
from PIL import Image  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import make  # noqa: E402
import name_weights  # noqa: E402
import path_noise  # noqa: E402

torch.set_num_threads(1)

BASE = dict(checkpoint="pndm", width=64, height=64, steps=10, guidance=5.0, seed=11, prompt="a red house on green hills", negative="night")
IMAGE = dict(BASE, kind="image")
PAINT = dict(BASE, kind="paint")
CASES = {
    "image_030": dict(IMAGE, strength=0.3),
    "image_055": dict(IMAGE, strength=0.55),
    "image_080": dict(IMAGE, strength=0.8),
    "image_090": dict(IMAGE, strength=0.9),
    "image_100": dict(IMAGE, strength=1.0),
    "image_one_call": dict(IMAGE, strength=0.1),
    "image_029": dict(IMAGE, strength=0.29, steps=100, sampler="euler"),  # 28 steps: 100 * 0.29 is below 29 in doubles
    "image_wide": dict(IMAGE, strength=0.5, width=104, height=40),
    "image_ddim": dict(IMAGE, strength=0.55, sampler="ddim"),
    "image_euler": dict(IMAGE, strength=0.55, sampler="euler"),
    "image_euler_karras": dict(IMAGE, strength=0.55, sampler="euler", schedule="karras"),
    "image_ancestral": dict(IMAGE, strength=0.55, sampler="euler_ancestral"),
    "image_dpmpp": dict(IMAGE, strength=0.55, sampler="dpmpp_2m", schedule="karras"),
    "image_dpmpp_20": dict(IMAGE, strength=0.8, sampler="dpmpp_2m", steps=20),
    "image_singles": dict(IMAGE, strength=0.55, sampler="euler_ancestral", batch=3, seed=20),
    "image_batch": dict(IMAGE, strength=0.55, sampler="euler_ancestral", batch=3, seed=30, compat="diffusers"),
    "image_ddim_v": dict(IMAGE, checkpoint="ddim_v", strength=0.6),
    "image_ddim_v_whole": dict(IMAGE, checkpoint="ddim_v", strength=1.0),
    "image_ddim_v_plms": dict(IMAGE, checkpoint="ddim_v", strength=0.6, sampler="plms"),
    "image_euler_own": dict(IMAGE, checkpoint="euler", strength=0.6),
    "image_euler_plms": dict(IMAGE, checkpoint="euler", strength=0.6, sampler="plms"),
    "image_ancestral_own": dict(IMAGE, checkpoint="ancestral", strength=0.6),
    "paint": dict(PAINT, strength=1.0),
    "paint_060": dict(PAINT, strength=0.6),
    "paint_090": dict(PAINT, strength=0.9),
    "paint_ddim": dict(PAINT, strength=0.6, sampler="ddim"),
    "paint_ddim_v": dict(PAINT, checkpoint="ddim_v", strength=0.6),
    "paint_euler": dict(PAINT, strength=1.0, sampler="euler"),
    "paint_euler_060": dict(PAINT, strength=0.6, sampler="euler"),
    "paint_ancestral": dict(PAINT, strength=0.6, sampler="euler_ancestral"),
    "paint_ancestral_whole": dict(PAINT, strength=1.0, sampler="euler_ancestral"),
    "paint_dpmpp": dict(PAINT, strength=0.6, sampler="dpmpp_2m", schedule="karras"),
    "paint_one": dict(PAINT, strength=0.6, sampler="euler", guidance=1.0, negative=""),
    "paint_singles": dict(PAINT, strength=0.6, sampler="euler_ancestral", batch=2, seed=40),
    "paint_batch": dict(PAINT, strength=0.6, sampler="euler_ancestral", batch=2, seed=50, compat="diffusers"),
    "paint9": dict(PAINT, channels=9, strength=1.0),
    "paint9_060": dict(PAINT, channels=9, strength=0.6),
    "paint9_ancestral": dict(PAINT, channels=9, strength=0.6, sampler="euler_ancestral"),
    "paint9_dpmpp": dict(PAINT, channels=9, strength=1.0, sampler="dpmpp_2m", schedule="karras"),
    "paint9_one": dict(PAINT, channels=9, strength=1.0, sampler="euler", guidance=1.0, negative=""),
    "paint9_singles": dict(PAINT, channels=9, strength=0.6, sampler="euler_ancestral", batch=2, seed=60),
    "paint9_batch": dict(PAINT, channels=9, strength=0.6, sampler="euler_ancestral", batch=2, seed=70, compat="diffusers"),
    "paint9_batch_whole": dict(PAINT, channels=9, strength=1.0, sampler="euler_ancestral", batch=2, seed=71, compat="diffusers"),
    "told": dict(BASE, kind="told", channels=8, image_guidance=1.5),
    "told_strong": dict(BASE, kind="told", channels=8, image_guidance=2.5, guidance=3.0, sampler="euler"),
    "told_ancestral": dict(BASE, kind="told", channels=8, image_guidance=1.2, sampler="euler_ancestral"),
    "told_one": dict(BASE, kind="told", channels=8, image_guidance=1.5, guidance=1.0, negative="", sampler="dpmpp_2m"),
    "told_batch": dict(BASE, kind="told", channels=8, image_guidance=1.5, batch=2, seed=80, sampler="euler_ancestral", compat="diffusers"),
}
# Classes whose steps depend on where they stand: orders by step, correctors, noise of their own; and those of two calls a step, under a mask
# after each of which what is not masked is put back.
TWO_CALLS = ("HeunDiscreteScheduler", "KDPM2DiscreteScheduler", "KDPM2AncestralDiscreteScheduler", "DPMSolverSDEScheduler")
for name in ("LMSDiscreteScheduler", "UniPCMultistepScheduler", "DPMSolverSinglestepScheduler", "DEISMultistepScheduler", "DDPMScheduler",
             "LCMScheduler", "SASolverScheduler", *TWO_CALLS):
    make.CLASSES[name] = name
    CASES[f"image_{name}"] = dict(IMAGE, strength=0.55, sampler=name)
    if name not in TWO_CALLS:
        CASES[f"paint_{name}"] = dict(PAINT, strength=0.6, sampler=name)
for name in TWO_CALLS:
    for strength in (0.4, 0.75, 1.0):
        CASES[f"paint_{name}_{100 * strength:03.0f}"] = dict(PAINT, strength=strength, sampler=name)
    CASES[f"paint_{name}_v"] = dict(PAINT, checkpoint="ddim_v", strength=0.75, sampler=name)
    CASES[f"paint_{name}_singles"] = dict(PAINT, strength=0.75, sampler=name, batch=2, seed=90)
PIPELINES = {"image": StableDiffusionImg2ImgPipeline, "paint": StableDiffusionInpaintPipeline, "told": StableDiffusionInstructPix2PixPipeline}


def picture(width, height):
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    planes = [127.5 + 100 * np.sin(x / (5 + c) + y / (7 - c) + c) + 20 * np.cos(x * y / 50) for c in range(3)]
    return np.clip(np.stack(planes, -1).round(), 0, 255).astype(np.uint8)


def mask(width, height):  # a disc with a soft rim, not in the middle
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    away = np.hypot(x - 0.6 * width, y - 0.45 * height)
    return np.clip(((0.3 * min(width, height) + 6 - away) * 20).round(), 0, 255).astype(np.uint8)


def path_between(seeds, sigmas, shape):
    """hearth's own path in the place of torchsde's in DPMSolverSDE, which seeds that by chance. The class goes from σ to ln σ and back in f32,
    and a path is rough: each σ counts as that of the levels that it comes nearest to, of the schedule or in the middle between two."""
    paths = [path_noise.octave_path(seed, math.prod(shape[1:])) for seed in seeds]
    ends = np.array(sorted({s for s in sigmas.double().tolist() if s > 0}))
    levels = np.concatenate([ends, np.sqrt(ends[1:] * ends[:-1]).astype(np.float32)])

    def between(sigma, sigma_next):
        a, b = (float(levels[np.abs(np.log(levels / float(s))).argmin()]) for s in (sigma, sigma_next))
        rows = [path(b, a) / -math.sqrt(a - b) for path in paths]
        return torch.from_numpy(np.stack(rows).astype(np.float32)).reshape(shape)

    return between


def with_path(scheduler, case):
    """The scheduler, whose noise between two σ is that of hearth's path where the class has a path."""
    if type(scheduler).__name__ == "DPMSolverSDEScheduler":
        seeds = [case["seed"] + k for k in range(case.get("batch", 1))]
        dpmsolver_sde.BrownianTreeNoiseSampler = lambda x, low, high, seed: path_between(seeds, scheduler.sigmas, x.shape)
    return scheduler


def wide_input(unet, channels):
    """The same UNet with another first convolution."""
    wide = UNet2DConditionModel.from_config(unet.config, in_channels=channels)
    weights = dict(unet.state_dict())
    own = torch.from_numpy(name_weights.tensor(f"conv_in.{channels}.weight", (*unet.conv_in.weight.shape[:1], channels, 3, 3)))
    weights["conv_in.weight"] = own
    wide.load_state_dict(weights)
    return wide, own


def main():
    tensors, records = {}, {}
    for label, case in CASES.items():
        folder = HERE / case["checkpoint"]
        parts = {}
        if case.get("channels"):
            unet = UNet2DConditionModel.from_pretrained(folder / "unet", torch_dtype=torch.float32)
            parts["unet"], tensors[f"conv_in.{case['channels']}"] = wide_input(unet, case["channels"])
        with tempfile.TemporaryDirectory() as copy:
            shutil.copytree(folder, copy, dirs_exist_ok=True)
            index = Path(copy) / "model_index.json"
            index.write_text(json.dumps(json.loads(index.read_text()) | {"image_encoder": [None, None]}))
            config = Path(copy) / "unet/config.json"  # these pipelines compare its sample_size with a number
            config.write_text(json.dumps(json.loads(config.read_text()) | {"sample_size": 8}))
            pipe = PIPELINES[case["kind"]].from_pretrained(copy, torch_dtype=torch.float32, safety_checker=None, **parts)
        pipe.set_progress_bar_config(disable=True)
        pipe.scheduler = with_path(make.with_sampler(pipe.scheduler, case), case)
        W, H, n = case["width"], case["height"], case.get("batch", 1)
        image, painted = Image.fromarray(picture(W, H)), Image.fromarray(mask(W, H))
        tensors[f"picture.{W}x{H}"], tensors[f"mask.{W}x{H}"] = torch.from_numpy(picture(W, H)), torch.from_numpy(mask(W, H))
        one = case.get("compat") == "diffusers"
        generator = torch.Generator().manual_seed(case["seed"])
        if not one:
            generator = [torch.Generator().manual_seed(case["seed"] + k) for k in range(n)]
        images = image if one else [image] * n  # one picture for all of a batch, or each its own
        options = dict(prompt=[case["prompt"]] * n, negative_prompt=[case["negative"]] * n, num_inference_steps=case["steps"],
                       guidance_scale=case["guidance"], generator=generator, output_type="latent", image=images)
        if case["kind"] != "told":
            options["strength"] = case["strength"]
        if case["kind"] == "paint":
            options |= dict(mask_image=painted if one else [painted] * n, width=W, height=H)
        if case["kind"] == "told":
            options["image_guidance_scale"] = case["image_guidance"]
        latents = pipe(**options).images
        tensors[label] = latents.contiguous()
        records[label] = case
        print(f"{label}: rms {latents.square().mean().sqrt():.3g}", flush=True)
    versions = dict(torch=torch.__version__, diffusers=diffusers.__version__)
    save_file(tensors, HERE / "editing.safetensors", metadata={"made by": "tests/e2e/golden/make_editing.py", **versions})
    (HERE / "editing.json").write_text(json.dumps(dict(versions=versions, cases=records), indent=1) + "\n")


if __name__ == "__main__":
    main()
