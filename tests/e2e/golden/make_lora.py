"""Goldens of adapters: what diffusers draws with them, and with weights that were changed by the published formulas.

    OMP_NUM_THREADS=1 python make_lora.py [NAME …]

needs diffusers 0.39.0, transformers 4.57.1, peft 0.21.2, lycoris-lora 4.1.3 and torch; writes lora.json and lora.safetensors. A case of lora.json has

    checkpoint, strength, text_strength    a checkpoint of make.py, make_xl.py, make_sd3.py or make_flux.py; the strengths
    tensors                                the adapter's tensors: name → shape. Values are those of tools/name_weights.py
    values                                 name → number, of tensors with one value: alphas
    metadata                               of the file, if it has any
    file                                   the case whose adapter it is, if that is another; this has the following three then
    sampler, schedule, …_options           of the run; "scheduler" and "call" are the same for diffusers
    oracle                                 what drew it: "diffusers" loaded the file, or "formula": the weights were changed

and lora.safetensors the final latents [1, c, h, w] f32 of each. The formulas are compared with those of lycoris and PEFT first.
"""

import json
import sys
import tempfile
from pathlib import Path

import diffusers
import torch
from diffusers import DiffusionPipeline
from lora_files import (HERE, STREAM_ENDS, joint_blocks, make_diffusers, make_flux_plain, make_fused, make_kind, make_kohya, make_locon,
                        make_old_diffusers, make_peft_dora, make_plain, make_text_transformer, make_transformer, make_xl, make_xl_diffusers,
                        stream_blocks, with_underscores)
from safetensors.torch import load_file, save_file

torch.set_num_threads(1)
diffusers.utils.logging.set_verbosity_error()

RUN = dict(prompt="a red house on green hills", width=64, height=64, steps=3, guidance=7.5, seed=1)

# Few steps: what the publishers of these LoRAs recommend, as diffusers' scheduler and call, and as hearth's sampler and schedule.
TRAILING = dict(timestep_spacing="trailing")
FEW = dict(oracle="diffusers", steps=4)

CASES = {
    "kohya": dict(checkpoint="pndm", make=make_kohya, strength=0.8, text_strength=0.5),
    "kohya_negative": dict(checkpoint="pndm", make=make_kohya, strength=-0.7),
    "kohya_linear_projections": dict(checkpoint="ddim_v", make=make_kohya, strength=1.0, guidance=1.5),
    "diffusers": dict(checkpoint="pndm", make=make_diffusers, oracle="diffusers", strength=1.0),
    "peft": dict(checkpoint="pndm", make=lambda pipe: make_diffusers(pipe, inner="base_model.model."), strength=1.0),
    "linear_layer": dict(checkpoint="pndm", strength=1.0,
                         make=lambda pipe: make_diffusers(pipe, ("lora_linear_layer.down.weight", "lora_linear_layer.up.weight"))),
    "processors": dict(checkpoint="pndm", make=make_old_diffusers, strength=0.9),
    "locon": dict(checkpoint="pndm", make=make_locon, strength=0.6),
    "xl_kohya": dict(checkpoint="xl", make=make_xl, strength=0.7, text_strength=0.4),
    "xl_onetrainer": dict(checkpoint="xl", make=lambda pipe: make_xl(pipe, original=False), strength=0.7),
    "xl_diffusers": dict(checkpoint="xl", make=make_xl_diffusers, oracle="diffusers", strength=0.8),
    "sd3_kohya": dict(checkpoint="sd3", strength=0.8, make=lambda pipe: make_fused(pipe, joint_blocks(pipe), with_underscores("lora_unet_"))),
    "sd3_diffusers": dict(checkpoint="sd3", strength=0.8, make=make_transformer, oracle="diffusers"),
    "sd3_onetrainer": dict(checkpoint="sd3", strength=0.5, make=lambda pipe: make_transformer(
        pipe, "lora_transformer_", False, [("text_encoder", "lora_te1_"), ("text_encoder_2", "lora_te2_"), ("text_encoder_3", "lora_te3_")])),
    "flux_kohya": dict(checkpoint="flux_dev", strength=0.6, guidance=3.5,
                       make=lambda pipe: make_fused(pipe, stream_blocks(pipe), with_underscores("lora_unet_"), ends=STREAM_ENDS)),
    "flux_original": dict(checkpoint="flux_dev", strength=0.6, guidance=3.5, make=lambda pipe: make_fused(
        pipe, stream_blocks(pipe), lambda module: "diffusion_model." + module, ("lora_A.weight", "lora_B.weight"), None)),
    "flux_diffusers": dict(checkpoint="flux_dev", strength=0.7, guidance=3.5, make=make_transformer, oracle="diffusers"),
    "flux_simpletuner": dict(checkpoint="flux_dev", strength=0.7, guidance=3.5, make=lambda pipe: make_transformer(
        pipe, "lycoris_", False, [("text_encoder", "lora_te1_"), ("text_encoder_2", "lora_te3_")])),
    "kohya_loaded": dict(checkpoint="pndm", strength=0.8, make=make_plain, oracle="diffusers"),
    "sd2_loaded": dict(checkpoint="ddim_v", strength=0.8, guidance=1.5, make=make_plain, oracle="diffusers"),
    "xl_kohya_loaded": dict(checkpoint="xl", strength=0.8, make=make_plain, oracle="diffusers"),
    "locon_loaded": dict(checkpoint="pndm", strength=0.7, make=lambda pipe: make_plain(pipe, convolutions=True), oracle="diffusers"),
    "dora_loaded": dict(checkpoint="pndm", strength=1.0, make=make_peft_dora, oracle="diffusers"),
    "sd3_text_loaded": dict(checkpoint="sd3", strength=0.8, oracle="diffusers",
                            make=lambda pipe: make_text_transformer(pipe, ["text_encoder", "text_encoder_2"])),
    "flux_kohya_loaded": dict(checkpoint="flux_dev", strength=0.7, guidance=3.5, make=make_flux_plain, oracle="diffusers"),
    "flux_text_loaded": dict(checkpoint="flux_dev", strength=0.7, guidance=3.5, oracle="diffusers",
                             make=lambda pipe: make_text_transformer(pipe, ["text_encoder"])),
    "lcm": dict(FEW, checkpoint="pndm", strength=1.0, guidance=1.0, file="kohya_loaded", scheduler=["LCMScheduler", {}], sampler="lcm"),
    "lcm_guided": dict(FEW, checkpoint="pndm", strength=1.0, guidance=1.5, steps=6, file="kohya_loaded", scheduler=["LCMScheduler", {}], sampler="lcm"),
    "xl_lcm": dict(FEW, checkpoint="xl", strength=1.0, guidance=1.0, file="xl_diffusers", scheduler=["LCMScheduler", {}], sampler="lcm"),
    "xl_lightning": dict(FEW, checkpoint="xl", strength=1.0, guidance=0.0, file="xl_diffusers", scheduler=["EulerDiscreteScheduler", TRAILING],
                         sampler="euler", schedule="trailing"),
    "xl_lightning_two": dict(FEW, checkpoint="xl", strength=1.0, guidance=0.0, steps=2, file="xl_diffusers",
                             scheduler=["EulerDiscreteScheduler", TRAILING], sampler="euler", schedule="trailing"),
    "hyper": dict(FEW, checkpoint="pndm", strength=1.0, guidance=0.0, steps=8, file="kohya_loaded", scheduler=["DDIMScheduler", TRAILING], sampler="ddim",
                  schedule="trailing"),
    "xl_hyper": dict(FEW, checkpoint="xl", strength=1.0, guidance=0.0, steps=2, file="xl_diffusers", scheduler=["DDIMScheduler", TRAILING],
                     sampler="ddim", schedule="trailing"),
    "hyper_tcd": dict(FEW, checkpoint="pndm", strength=1.0, guidance=0.0, steps=4, file="kohya_loaded", scheduler=["TCDScheduler", {}], call=dict(eta=1.0),
                      sampler="tcd", sampler_options=dict(eta="1")),
    "xl_hyper_tcd": dict(FEW, checkpoint="xl", strength=1.0, guidance=0.0, steps=1, file="xl_diffusers", scheduler=["TCDScheduler", {}],
                         call=dict(eta=1.0), sampler="tcd", sampler_options=dict(eta="1")),
    "tcd": dict(FEW, checkpoint="pndm", strength=1.0, guidance=0.0, file="kohya_loaded", scheduler=["TCDScheduler", {}], call=dict(eta=0.3), sampler="tcd",
                sampler_options=dict(eta="0.3")),
    "xl_dmd": dict(FEW, checkpoint="xl", strength=1.0, guidance=0.0, file="xl_diffusers", scheduler=["LCMScheduler", {}],
                   call=dict(timesteps=[999, 749, 499, 249]), sampler="lcm", schedule="lcm", schedule_options=dict(original_steps=4)),
    "loha": dict(checkpoint="pndm", strength=0.8, make=lambda pipe: make_kind(pipe, "loha")),
    "lokr_0": dict(checkpoint="pndm", strength=0.5, make=lambda pipe: make_kind(pipe, "lokr_0")),
    "lokr_1": dict(checkpoint="pndm", strength=0.5, make=lambda pipe: make_kind(pipe, "lokr_1")),
    "lokr_2": dict(checkpoint="pndm", strength=0.5, make=lambda pipe: make_kind(pipe, "lokr_2")),
    "lokr_3": dict(checkpoint="pndm", strength=0.5, make=lambda pipe: make_kind(pipe, "lokr_3")),
    "dora": dict(checkpoint="pndm", strength=0.7, make=lambda pipe: make_kind(pipe, "dora")),
    "dora_columns": dict(checkpoint="pndm", strength=1.0, make=lambda pipe: make_kind(pipe, "dora_columns")),
    "ia3": dict(checkpoint="pndm", strength=0.4, make=lambda pipe: make_kind(pipe, "ia3")),
    "diff": dict(checkpoint="pndm", strength=0.3, make=lambda pipe: make_kind(pipe, "diff")),
}


def open_pipeline(checkpoint):
    pipe = DiffusionPipeline.from_pretrained(HERE / checkpoint, torch_dtype=torch.float32, **(
        dict(safety_checker=None) if checkpoint in ("pndm", "ddim_v", "euler", "dpmpp", "ancestral") else {}))
    pipe.set_progress_bar_config(disable=True)
    return pipe


def apply(pipe, file, strength, text_strength):
    for component, name, how, change in file.changes:
        layer = getattr(pipe, component).get_submodule(name)
        s = text_strength if component.startswith("text_encoder") else strength
        with torch.no_grad():
            if how == "add":
                layer.weight += s * change.reshape(layer.weight.shape)
            elif how == "add_bias":
                layer.bias += s * change
            else:  # a function of the weight, for a strength
                layer.weight.copy_(change(layer.weight, s))


def draw(pipe, run, scheduler=None, call={}):
    if scheduler:
        pipe.scheduler = getattr(diffusers, scheduler[0]).from_config(pipe.scheduler.config, **scheduler[1])
    options = dict(prompt=run["prompt"], width=run["width"], height=run["height"], num_inference_steps=run["steps"],
                   guidance_scale=run["guidance"], generator=torch.Generator().manual_seed(run["seed"]), output_type="latent")
    latents = pipe(**options, **call).images
    if latents.ndim == 3:  # tokens of 2 × 2 latent pixels
        latents = pipe._unpack_latents(latents, run["height"], run["width"], pipe.vae_scale_factor)
    return latents.contiguous()


def relative(a, b):
    return float((a - b).norm() / b.norm())


def main():
    known = HERE / "lora.json"
    cases = json.loads(known.read_text())["cases"] if known.exists() else {}
    tensors = {}
    if (HERE / "lora.safetensors").exists():
        tensors = load_file(HERE / "lora.safetensors")
    for label, case in CASES.items():
        if sys.argv[1:] and label not in sys.argv[1:]:
            continue
        run = RUN | {key: case[key] for key in ("guidance", "steps") if key in case}
        strength, text_strength = case["strength"], case.get("text_strength", case["strength"])
        how = {key: case[key] for key in ("scheduler", "call") if key in case}
        plain = draw(open_pipeline(case["checkpoint"]), run, **how)
        pipe = open_pipeline(case["checkpoint"])
        file = CASES[case.get("file", label)]["make"](pipe)
        apply(pipe, file, strength, text_strength)
        latents = draw(pipe, run, **how)
        if case.get("oracle") == "diffusers":
            pipe = open_pipeline(case["checkpoint"])
            with tempfile.TemporaryDirectory() as folder:
                file.save(Path(folder) / "lora.safetensors")
                pipe.load_lora_weights(folder, weight_name="lora.safetensors", adapter_name="one")
            pipe.set_adapters("one", strength)
            loaded = draw(pipe, run, **how)
            print(f"{label}: diffusers against the formula {relative(loaded, latents):.1e}")
            latents = loaded
        tensors[label] = latents
        cases[label] = {**{k: v for k, v in case.items() if k not in ("make",)}, "oracle": case.get("oracle", "formula"), **run}
        if "file" not in case:
            cases[label] |= {"tensors": file.tensors, "values": file.values, "metadata": file.metadata}
        print(f"{label}: rms {latents.square().mean().sqrt():.3g}, away from the run without it {relative(latents, plain):.1e}, "
              f"{len(file.changes)} weights", flush=True)
    cases = {label: cases[label] for label in CASES if label in cases}
    tensors = {label: tensors[label] for label in cases}
    versions = dict(torch=torch.__version__, diffusers=diffusers.__version__)
    known.write_text(json.dumps(dict(versions=versions, cases=cases), separators=(",", ":")) + "\n")
    save_file(tensors, HERE / "lora.safetensors", metadata={"made by": "tests/e2e/golden/make_lora.py", **versions})


if __name__ == "__main__":
    main()
