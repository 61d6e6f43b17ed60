#!/usr/bin/env python3
"""The scheduler classes that StableDiffusionPipeline takes, each as the checkpoint's own (tests/e2e/scheduler_class_test.cpp).

    python make_classes.py        # diffusers 0.39.0, torch, transformers; after make.py; writes classes.safetensors

A case is a tensor whose name is CLASS|STEPS|JSON: the latents that the pipeline makes with the checkpoint `pndm`, where
model_index.json names CLASS and scheduler_config.json is JSON. DPMSolverSDEScheduler is left out: it draws its path from a seed of its own.
"""

import json
import shutil
import tempfile
from pathlib import Path

import diffusers
import torch
from diffusers import StableDiffusionPipeline
from safetensors.torch import save_file

HERE = Path(__file__).parent
BETAS = dict(beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear")
torch.set_num_threads(1)
CASES = [
    ("DDIMScheduler", {}), ("DDPMScheduler", {}), ("DDPMScheduler", {"variance_type": "fixed_large", "timestep_spacing": "trailing"}),
    ("PNDMScheduler", {}), ("LMSDiscreteScheduler", {}), ("LMSDiscreteScheduler", {"use_karras_sigmas": True}),
    ("EulerDiscreteScheduler", {"use_exponential_sigmas": True}), ("EulerDiscreteScheduler", {"use_beta_sigmas": True}),
    ("HeunDiscreteScheduler", {}), ("HeunDiscreteScheduler", {"timestep_spacing": "leading", "steps_offset": 1}),
    ("EulerAncestralDiscreteScheduler", {}), ("KDPM2DiscreteScheduler", {}), ("KDPM2AncestralDiscreteScheduler", {}),
    ("DPMSolverMultistepScheduler", {}), ("DPMSolverMultistepScheduler", {"solver_order": 3, "use_lu_lambdas": True}),
    ("DPMSolverMultistepScheduler", {"algorithm_type": "sde-dpmsolver++"}),
    ("DPMSolverMultistepScheduler", {"algorithm_type": "dpmsolver", "final_sigmas_type": "sigma_min", "solver_type": "heun"}),
    ("DPMSolverSinglestepScheduler", {}), ("DEISMultistepScheduler", {}), ("UniPCMultistepScheduler", {}),
    ("UniPCMultistepScheduler", {"solver_order": 3, "timestep_spacing": "trailing"}), ("SASolverScheduler", {}),
    ("LCMScheduler", {}), ("TCDScheduler", {}), ("EDMEulerScheduler", None), ("EDMDPMSolverMultistepScheduler", None),
]

out = {}
for name, config in CASES:
    config = {} if config is None else {**BETAS, **config}
    for steps in (4, 9):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "pndm"
            shutil.copytree(HERE / "pndm", copy)
            index = json.loads((copy / "model_index.json").read_text())
            index["scheduler"] = ["diffusers", name]
            (copy / "model_index.json").write_text(json.dumps(index))
            (copy / "scheduler/scheduler_config.json").write_text(json.dumps({"_class_name": name, **config}))
            pipe = StableDiffusionPipeline.from_pretrained(copy, torch_dtype=torch.float32, safety_checker=None)
            pipe.set_progress_bar_config(disable=True)
            latents = pipe("a red house on green hills", num_inference_steps=steps, guidance_scale=3.0, width=32, height=24, output_type="latent",
                           generator=[torch.Generator().manual_seed(7)]).images
        out[f"{name}|{steps}|{json.dumps(config)}"] = latents.contiguous()
        print(name, config, steps, float(latents.square().mean().sqrt()), flush=True)
versions = dict(torch=torch.__version__, diffusers=diffusers.__version__)
save_file(out, HERE / "classes.safetensors", metadata={"made by": "tests/e2e/golden/make_classes.py", **versions})
