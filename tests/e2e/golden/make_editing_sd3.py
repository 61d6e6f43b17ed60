"""Goldens of editing with Stable Diffusion 3: what diffusers' pipelines make of the small checkpoints that make_sd3.py wrote.

    OMP_NUM_THREADS=1 python make_editing_sd3.py

needs what make_sd3.py needs, and writes editing_sd3.json and editing_sd3.safetensors in the form of make_editing.py. A case without a strength
has the default of the pipeline's class. The transformers that take 33 channels are the checkpoint's with another first convolution, whose
weights are those of its name (`seeded`).
"""

import json

import make
import make_editing
import make_sd3
import torch
from diffusers import SD3Transformer2DModel, StableDiffusion3Img2ImgPipeline, StableDiffusion3InpaintPipeline, StableDiffusion3Pipeline
from PIL import Image
from safetensors.torch import save_file

import diffusers

HERE = make.HERE
PIPELINES = {"image": StableDiffusion3Img2ImgPipeline, "paint": StableDiffusion3InpaintPipeline, "text": StableDiffusion3Pipeline}
BASE = dict(make_editing.BASE, checkpoint="sd3", compat="diffusers")
IMAGE, PAINT, TEXT = (dict(BASE, kind=kind) for kind in PIPELINES)
WIDE = dict(edits={"transformer/config.json": {"in_channels": 33}}, seeded={"transformer": {"pos_embed.proj.weight": [16, 33, 2, 2]}})
PAINT33 = dict(PAINT, **WIDE)


def scheduler(**values):
    return {"scheduler/scheduler_config.json": values}


CASES = {
    "image_default": dict(IMAGE),  # 0.6
    "image_030": dict(IMAGE, strength=0.3, steps=7),  # 2.1 steps: 3
    "image_055": dict(IMAGE, strength=0.55),  # 6 steps
    "image_080": dict(IMAGE, strength=0.8),
    "image_100": dict(IMAGE, strength=1.0),
    "image_one_call": dict(IMAGE, strength=0.01),
    "image_029": dict(IMAGE, strength=0.29, steps=100, guidance=1.0),
    "image_wide": dict(IMAGE, strength=0.5, width=144, height=32),
    "image_heun": dict(IMAGE, strength=0.55, sampler="heun"),
    "image_heun_100": dict(IMAGE, strength=1.0, sampler="heun", steps=4),
    "image_heun_one": dict(IMAGE, strength=0.05, sampler="heun"),
    "image_karras": dict(IMAGE, strength=0.55, schedule="karras"),
    "image_no_guidance": dict(IMAGE, strength=0.55, guidance=1.0),
    "image_no_negative": dict(IMAGE, strength=0.55, negative=None),
    "image_no_t5": dict(IMAGE, strength=0.55, no_t5=True),
    "image_singles": dict(IMAGE, strength=0.55, batch=2, seed=20, compat=""),
    "image_batch": dict(IMAGE, strength=0.55, batch=2, seed=30),
    "image_35": dict(IMAGE, strength=0.7, checkpoint="sd35"),
    "paint_default": dict(PAINT),  # 0.6
    "paint_050": dict(PAINT, strength=0.5),
    "paint_045": dict(PAINT, strength=0.45),
    "paint_080": dict(PAINT, strength=0.8),
    "paint_100": dict(PAINT, strength=1.0),
    "paint_wide": dict(PAINT, strength=0.6, width=144, height=32),
    "paint_no_guidance": dict(PAINT, strength=0.6, guidance=1.0),
    "paint_singles": dict(PAINT, strength=0.6, batch=2, seed=40, compat=""),
    "paint_batch": dict(PAINT, strength=0.6, batch=2, seed=50),
    "paint_batch_whole": dict(PAINT, strength=1.0, batch=2, seed=51),
    "paint_35": dict(PAINT, strength=0.7, checkpoint="sd35"),
    "paint33": dict(PAINT33, strength=1.0),
    "paint33_060": dict(PAINT33, strength=0.6),
    "paint33_no_guidance": dict(PAINT33, strength=1.0, guidance=1.0),
    "paint33_singles": dict(PAINT33, strength=0.6, batch=2, seed=60, compat=""),
    "paint33_batch": dict(PAINT33, strength=0.6, batch=2, seed=70),
    "paint33_batch_whole": dict(PAINT33, strength=1.0, batch=2, seed=71),
    "dynamic": dict(TEXT, edits=scheduler(use_dynamic_shifting=True)),
    "dynamic_wide": dict(TEXT, width=144, height=32, edits=scheduler(use_dynamic_shifting=True, base_image_seq_len=4, max_image_seq_len=64)),
    "dynamic_image": dict(IMAGE, strength=0.55, edits=scheduler(use_dynamic_shifting=True, max_image_seq_len=64, max_shift=1.8)),
    "unshifted": dict(TEXT, edits=scheduler(shift=1.0)),
}
for strength in (0.4, 0.75, 1.0):
    CASES[f"paint_heun_{100 * strength:03.0f}"] = dict(PAINT, strength=strength, sampler="heun")


def opened(case):
    pipe = make_sd3.opened(case["checkpoint"], case, torch.float32, PIPELINES[case["kind"]])
    changes = case.get("edits", {})
    if "scheduler/scheduler_config.json" in changes:
        pipe.scheduler = type(pipe.scheduler).from_config(pipe.scheduler.config, **changes["scheduler/scheduler_config.json"])
    if "transformer/config.json" in changes:
        wide = SD3Transformer2DModel.from_config(pipe.transformer.config, **changes["transformer/config.json"])
        weights = dict(pipe.transformer.state_dict())
        for name, shape in case["seeded"]["transformer"].items():
            weights[name] = torch.from_numpy(make.name_weights.tensor(name, shape))
        wide.load_state_dict(weights)
        pipe.register_modules(transformer=wide)
    return pipe


def main():
    tensors, records = {}, {}
    for label, case in CASES.items():
        W, H, n = case["width"], case["height"], case.get("batch", 1)
        pipe = opened(case)
        picture, mask = make_editing.picture(W, H), make_editing.mask(W, H)
        tensors[f"picture.{W}x{H}"], tensors[f"mask.{W}x{H}"] = torch.from_numpy(picture), torch.from_numpy(mask)
        image, painted = Image.fromarray(picture), Image.fromarray(mask)
        one = case["compat"] == "diffusers"
        options = dict(prompt=[case["prompt"]] * n, num_inference_steps=case["steps"], guidance_scale=case["guidance"], output_type="latent",
                       generator=make_sd3.generators(case, n), width=W, height=H)
        if case["kind"] != "text":
            options["image"] = image if one else [image] * n
        if case["negative"] is not None:
            options["negative_prompt"] = [case["negative"]] * n
        if case["kind"] == "paint":
            options["mask_image"] = painted if one else [painted] * n
        if "strength" in case:
            options["strength"] = case["strength"]
        latents = pipe(**options).images
        tensors[label] = latents.contiguous()
        records[label] = {k: v for k, v in case.items() if v is not None} | dict(pipeline=type(pipe).__name__)
        print(f"{label}: rms {latents.square().mean().sqrt():.3g}, {len(pipe.scheduler.timesteps)} calls at most, {pipe._num_timesteps} made", flush=True)
    versions = dict(torch=torch.__version__, diffusers=diffusers.__version__)
    save_file(tensors, HERE / "editing_sd3.safetensors", metadata={"made by": "tests/e2e/golden/make_editing_sd3.py", **versions})
    (HERE / "editing_sd3.json").write_text(json.dumps(dict(versions=versions, cases=records), indent=1) + "\n")


if __name__ == "__main__":
    main()
