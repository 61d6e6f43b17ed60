"""Goldens of editing with Stable Diffusion XL, of UNets that know the picture's depth, and of EDM checkpoints: what diffusers' pipelines of
each kind make of the small checkpoints that make.py and make_xl.py wrote.

    OMP_NUM_THREADS=1 python make_editing_xl.py

needs what make_editing.py needs, and writes editing_xl.json and editing_xl.safetensors in the form of its files. A case without a strength
has the default of the pipeline's class. `edits` of a case are made in the checkpoint's files before it is opened.
"""

import json
import shutil
import tempfile
from pathlib import Path

import make
import make_editing
import numpy as np
import torch
from diffusers import (AutoencoderKL, StableDiffusionDepth2ImgPipeline, StableDiffusionXLImg2ImgPipeline, StableDiffusionXLInpaintPipeline,
                       StableDiffusionXLInstructPix2PixPipeline, StableDiffusionXLPipeline, UNet2DConditionModel)
from make_xl import sizes_of
from PIL import Image
from safetensors.torch import save_file
from transformers import CLIPTextModel, CLIPTokenizer

import diffusers

HERE = make.HERE
BASE = dict(make_editing.BASE, checkpoint="xl", compat="diffusers")
IMAGE, PAINT, TOLD, DEPTH = (dict(BASE, kind=kind) for kind in ("image", "paint", "told", "depth"))
DEPTH |= dict(checkpoint="ddim_v", channels=5)
PLAYGROUND = {  # latents with statistics, an EDM network and its scheduler
    "vae/config.json": dict(scaling_factor=0.5, latents_mean=[-1.6574, 1.886, -1.383, 2.5155], latents_std=[8.4927, 5.9022, 6.5498, 5.2299]),
}


def edm(name, **extra):
    config = dict(_class_name=name, num_train_timesteps=1000, prediction_type="epsilon", rho=7.0, sigma_data=0.5, sigma_max=80.0,
                  sigma_min=0.002, **extra)
    return PLAYGROUND | {"model_index.json": dict(scheduler=["diffusers", name]), "scheduler/scheduler_config.json": config}


EDM_DPM = edm("EDMDPMSolverMultistepScheduler", algorithm_type="dpmsolver++", euler_at_final=False, final_sigmas_type="zero",
              lower_order_final=True, solver_order=2, solver_type="midpoint")
# CosXL: v-prediction of an EDM network, its levels falling exponentially from 120 to 0.002.
COSXL = {name: json.loads((HERE.parents[2] / "src/models/sdxl/configs/cosxl" / name).read_text()) for name in ("scheduler/scheduler_config.json",)}
COSXL |= {"model_index.json": dict(scheduler=["diffusers", "EDMEulerScheduler"])}
COSXL_EDIT = COSXL | {"model_index.json": COSXL["model_index.json"] | dict(is_cosxl_edit=True)}
CASES = {
    "image_default": dict(IMAGE),  # 0.3
    "image_055": dict(IMAGE, strength=0.55),
    "image_080": dict(IMAGE, strength=0.8),
    "image_100": dict(IMAGE, strength=1.0),
    "image_dpmpp": dict(IMAGE, strength=0.55, sampler="dpmpp_2m", schedule="karras"),
    "image_ancestral": dict(IMAGE, strength=0.55, sampler="euler_ancestral", width=104, height=40),
    "image_singles": dict(IMAGE, strength=0.55, sampler="euler_ancestral", batch=2, seed=20, compat=""),
    "image_batch": dict(IMAGE, strength=0.55, sampler="euler_ancestral", batch=2, seed=30),
    "image_no_negative": dict(IMAGE, strength=0.55, negative=None),  # zeros
    "image_sizes": dict(IMAGE, strength=0.55, original_size=[512, 384], crop=[16, 8], target_size=[1024, 1000]),
    "image_negative_sizes": dict(IMAGE, strength=0.55, crop=[16, 8], negative_original_size=[100, 90], negative_target_size=[200, 300]),
    "image_lcm": dict(IMAGE, checkpoint="xl_lcm", strength=0.5, steps=8),
    "image_v": dict(IMAGE, checkpoint="xl_v", strength=0.6),
    "image_refiner": dict(IMAGE, checkpoint="xl_refiner"),  # 0.3
    "image_refiner_080": dict(IMAGE, checkpoint="xl_refiner", strength=0.8, aesthetic=7.5, negative_aesthetic=1.0, crop=[16, 8]),
    "image_hand_off": dict(IMAGE, strength=0.8, end=0.6, refiner="xl_refiner"),
    "image_hand_off_late": dict(IMAGE, strength=0.5, end=0.8, refiner="xl_refiner", sampler="dpmpp_2m"),
    "paint_default": dict(PAINT),  # 0.9999
    "paint_050": dict(PAINT, strength=0.5),
    "paint_080": dict(PAINT, strength=0.8),
    "paint_100": dict(PAINT, strength=1.0),
    "paint_ancestral": dict(PAINT, strength=0.6, sampler="euler_ancestral", width=104, height=40),
    "paint_dpmpp": dict(PAINT, strength=0.6, sampler="dpmpp_2m", schedule="karras"),
    "paint_batch": dict(PAINT, strength=0.6, sampler="euler_ancestral", batch=2, seed=50),
    "paint9_default": dict(PAINT, channels=9),
    "paint9_050": dict(PAINT, channels=9, strength=0.5),
    "paint9_080": dict(PAINT, channels=9, strength=0.8),
    "paint9_100": dict(PAINT, channels=9, strength=1.0),
    "paint9_singles": dict(PAINT, channels=9, strength=0.6, sampler="euler_ancestral", batch=2, seed=60, compat=""),
    "paint9_batch_whole": dict(PAINT, channels=9, strength=1.0, sampler="euler_ancestral", batch=2, seed=71),
    "told": dict(TOLD, channels=8, image_guidance=1.5),
    "told_ancestral": dict(TOLD, channels=8, image_guidance=1.2, sampler="euler_ancestral", negative=None),
    "told_scaled": dict(TOLD, channels=8, image_guidance=1.5, edits={"model_index.json": dict(is_cosxl_edit=True)}),  # CosXL's
    "depth_default": dict(DEPTH),  # 0.8
    "depth_030": dict(DEPTH, strength=0.3),
    "depth_100": dict(DEPTH, strength=1.0),
    "depth_euler": dict(DEPTH, strength=0.6, sampler="euler", width=104, height=40, depth_size=[64, 48]),
    "depth_one": dict(DEPTH, strength=0.6, guidance=1.0, negative=""),
    "depth_singles": dict(DEPTH, strength=0.6, sampler="euler_ancestral", batch=2, seed=90, compat=""),
    "depth_batch": dict(DEPTH, strength=0.6, sampler="euler_ancestral", batch=2, seed=91),
    "depth_as_it_is": dict(DEPTH, checkpoint="ancestral", strength=0.6),  # this pipeline leaves the scheduler's steps_offset 0
    "edm": dict(BASE, kind="text", guidance=3.0, edits=EDM_DPM),
    "edm_twenty": dict(BASE, kind="text", guidance=3.0, steps=20, edits=EDM_DPM),
    "edm_euler": dict(BASE, kind="text", guidance=3.0, edits=edm("EDMEulerScheduler")),
    "edm_image": dict(IMAGE, guidance=3.0, strength=0.55, edits=EDM_DPM),
    "cosxl": dict(BASE, kind="text", edits=COSXL),
    "cosxl_image": dict(IMAGE, strength=0.55, edits=COSXL),
    "cosxl_edit": dict(TOLD, channels=8, image_guidance=1.5, steps=7, edits=COSXL_EDIT),
    "cosxl_edit_no_negative": dict(TOLD, channels=8, image_guidance=1.2, guidance=3.0, negative=None, edits=COSXL_EDIT),
    "statistics": dict(BASE, kind="text", edits=PLAYGROUND),
    "statistics_image": dict(IMAGE, strength=0.55, edits=PLAYGROUND),
}
for name in make_editing.TWO_CALLS:
    CASES[f"image_{name}"] = dict(IMAGE, strength=0.55, sampler=name)
    for strength in (0.4, 0.75, 1.0):
        CASES[f"paint_{name}_{100 * strength:03.0f}"] = dict(PAINT, strength=strength, sampler=name)
PIPELINES = {"image": StableDiffusionXLImg2ImgPipeline, "paint": StableDiffusionXLInpaintPipeline,
             "told": StableDiffusionXLInstructPix2PixPipeline, "text": StableDiffusionXLPipeline}


def depth(width, height):  # 8 bits, not between 0 and 255: the pipeline stretches it
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    return np.clip((120 + 60 * np.sin(x / 9) * np.cos(y / 6) + x / 3).round(), 0, 255).astype(np.uint8)


def opened(case, checkpoint, tensors):
    """The pipeline of the case's kind, from a copy of the checkpoint with the case's edits."""
    parts = {}
    if case.get("channels"):
        unet = UNet2DConditionModel.from_pretrained(HERE / checkpoint / "unet", torch_dtype=torch.float32)
        parts["unet"], tensors[f"{checkpoint}.conv_in.{case['channels']}"] = make_editing.wide_input(unet, case["channels"])
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(HERE / checkpoint, copy, dirs_exist_ok=True)
        for name, values in case.get("edits", {}).items():
            path = Path(copy) / name
            before = {} if "_class_name" in values else json.loads(path.read_text())
            path.write_text(json.dumps(before | values))
        if case["kind"] == "depth":
            parts["unet"].register_to_config(sample_size=8)  # the pipeline compares it with a number
            scheduler = json.loads((Path(copy) / "scheduler/scheduler_config.json").read_text())["_class_name"]
            pipe = StableDiffusionDepth2ImgPipeline(
                vae=AutoencoderKL.from_pretrained(copy, subfolder="vae", torch_dtype=torch.float32),
                text_encoder=CLIPTextModel.from_pretrained(copy, subfolder="text_encoder", torch_dtype=torch.float32),
                tokenizer=CLIPTokenizer.from_pretrained(copy, subfolder="tokenizer"), unet=parts["unet"],
                scheduler=getattr(diffusers, scheduler).from_pretrained(copy, subfolder="scheduler"), depth_estimator=None,
                feature_extractor=None)
        else:
            pipe = PIPELINES[case["kind"]].from_pretrained(copy, torch_dtype=torch.float32, add_watermarker=False, **parts)
    pipe.set_progress_bar_config(disable=True)
    pipe.scheduler = make_editing.with_path(make.with_sampler(pipe.scheduler, case), case)
    return pipe


def main():
    tensors, records = {}, {}
    for label, case in CASES.items():
        W, H, n = case["width"], case["height"], case.get("batch", 1)
        pipe = opened(case, case["checkpoint"], tensors)
        picture, mask = make_editing.picture(W, H), make_editing.mask(W, H)
        tensors[f"picture.{W}x{H}"], tensors[f"mask.{W}x{H}"] = torch.from_numpy(picture), torch.from_numpy(mask)
        image, painted = Image.fromarray(picture), Image.fromarray(mask)
        one = case["compat"] == "diffusers"
        generator = torch.Generator().manual_seed(case["seed"])
        if not one:
            generator = [torch.Generator().manual_seed(case["seed"] + k) for k in range(n)]
        options = dict(prompt=[case["prompt"]] * n, num_inference_steps=case["steps"], guidance_scale=case["guidance"], generator=generator,
                       output_type="latent")
        if case["negative"] is not None:
            options["negative_prompt"] = [case["negative"]] * n
        if case["kind"] != "depth":
            options |= sizes_of(case, case["checkpoint"] == "xl_refiner")
        if case["kind"] != "text":
            options["image"] = image if one else [image] * n
        if case["kind"] in ("paint", "told", "text"):
            options |= dict(width=W, height=H)
        if case["kind"] == "paint":
            options["mask_image"] = painted if one else [painted] * n
        if case["kind"] == "told":
            options["image_guidance_scale"] = case["image_guidance"]
        if case["kind"] == "depth":
            far = depth(*case.get("depth_size", (W, H)))
            tensors[f"depth.{far.shape[1]}x{far.shape[0]}"] = torch.from_numpy(far)
            options["depth_map"] = torch.from_numpy(far).float()[None].repeat(1 if one else n, 1, 1)
        if "strength" in case:
            options["strength"] = case["strength"]
        if "refiner" in case:
            left = pipe(**options, denoising_end=case["end"]).images
            refine = opened(case, case["refiner"], tensors)
            tell = {k: v for k, v in options.items() if k not in ("strength", "image")}
            latents = refine(**tell, image=left, denoising_start=case["end"]).images
        else:
            latents = pipe(**options).images
        tensors[label] = latents.contiguous()
        if label == "edm":  # how the autoencoder's statistics are taken back is part of it
            mean, std = (torch.tensor(pipe.vae.config[key]).view(1, 4, 1, 1) for key in ("latents_mean", "latents_std"))
            with torch.no_grad():
                decoded = pipe.vae.decode(latents * std / pipe.vae.config.scaling_factor + mean).sample
            tensors[f"{label}.picture"] = decoded.contiguous()
        records[label] = {k: v for k, v in case.items() if v is not None} | dict(pipeline=type(pipe).__name__)
        print(f"{label}: rms {latents.square().mean().sqrt():.3g}", flush=True)
    versions = dict(torch=torch.__version__, diffusers=diffusers.__version__)
    save_file(tensors, HERE / "editing_xl.safetensors", metadata={"made by": "tests/e2e/golden/make_editing_xl.py", **versions})
    (HERE / "editing_xl.json").write_text(json.dumps(dict(versions=versions, cases=records), indent=1) + "\n")


if __name__ == "__main__":
    main()
