"""Makes names.json: which official tensor the reference's converters take from which original one, for the full tensor lists of
published single files (keys), as a count and a digest per component. src/models/names_test.cpp compares ours.

    python make.py        (tools/oracle-requirements.txt)

Every original tensor holds a number of its own, so that a converted one tells where it came from, and from which third or half of it. The recipe
also builds the networks from the built-in configurations (src/models/*/configs) and stops unless their tensors are those that came out.
"""
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import diffusers
import torch
import transformers
from diffusers import AutoencoderKL, SD3Transformer2DModel, UNet2DConditionModel
from diffusers.loaders import single_file_utils as reference
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
CONFIGS = {folder.name: folder for folder in ROOT.glob("src/models/*/configs/*")}

FILES = {  # list → configurations, text encoders: component → (prefix, kind)
    "sd15-single-file": ("sd15", {"text_encoder": ("cond_stage_model.transformer.", "clip")}),
    "sd21-single-file": ("sd21", {"text_encoder": ("cond_stage_model.model.", "open_clip")}),
    "sdxl-single-file": ("sdxl", {"text_encoder": ("conditioner.embedders.0.transformer.", "clip"),
                                  "text_encoder_2": ("conditioner.embedders.1.model.", "open_clip")}),
    "refiner-single-file": ("sdxl-refiner", {"text_encoder_2": ("conditioner.embedders.0.model.", "open_clip")}),
}
TRANSFORMERS = {"sd3-medium-sai": "sd3-medium", "sd35-medium-sai": "sd35-medium", "sd35-large-sai": "sd35-large"}
PARTS = 3  # of a tensor's rows that are told apart: thirds of fused ones, halves of modulations


def numbered(path):
    """name → a tensor of its shape that takes no memory: PARTS · its number, plus the part of its rows where it is fused or a modulation."""
    tensors, names = {}, []
    for line in path.read_text().splitlines():
        name, shape = line.split("\t")
        shape = tuple(int(d) for d in shape.split(","))
        number, parts = PARTS * len(names), 3 if ".in_proj_" in name or ".qkv." in name else 2 if ".adaLN_modulation." in name else 1
        if parts > 1:
            column = torch.arange(parts, dtype=torch.int16).repeat_interleave(shape[0] // parts) + number
            tensors[name] = column.reshape(-1, *[1] * (len(shape) - 1)).expand(shape)
        elif name.endswith("text_projection"):
            tensors[name] = torch.full(shape, number, dtype=torch.int16)
            tensors[name][0, 1] += 1
        else:
            tensors[name] = torch.tensor(number, dtype=torch.int16).expand(shape)
        names.append(name)
    return tensors, names


def described(converted, names):
    """One line per official tensor: its name, the original one, the form and the shape."""
    lines = []
    for official, value in converted.items():
        number = int(value.reshape(-1)[0])
        stored, form = names[number // PARTS], "same"
        if ".in_proj_" in stored or ".qkv." in stored:
            form = ("first_third", "second_third", "last_third")[number % PARTS]
            assert bool((value == number).all()), official
        elif ".adaLN_modulation." in stored:
            form = "swapped" if number % PARTS else "same"
        elif stored.endswith("text_projection"):
            form = "transposed" if int(value[1, 0]) == number + 1 else "same"
        elif stored.startswith("first_stage_model.") and ".mid.attn_1." in stored and value.dim() == 2:
            form = "kernel"
        lines.append(f"{official}\t{stored}\t{form}\t{','.join(str(d) for d in value.shape)}\n")
    return sorted(lines, key=lambda line: line.encode())


def digest(lines):
    """FNV-1a of 64 bits."""
    value = 0xCBF29CE484222325
    for byte in "".join(lines).encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def config_of(folder, file):
    path = CONFIGS[folder] / file
    if path.exists():
        return json.loads(path.read_text())
    base = json.loads((CONFIGS[folder] / "model_index.json").read_text())["_base"]
    return json.loads((CONFIGS[base] / file).read_text())


def require_same(what, converted, module):
    wanted = {name: tuple(value.shape) for name, value in module.state_dict().items() if not name.endswith("position_ids")}
    wanted = {name if name.startswith("text_") or not isinstance(module, transformers.PreTrainedModel) else "text_model." + name: shape
              for name, shape in wanted.items()}
    found = {name: tuple(value.shape) for name, value in converted.items()}
    assert wanted == found, (what, sorted(set(wanted.items()) ^ set(found.items()))[:8])


def main():
    result = {"versions": dict(torch=torch.__version__, diffusers=diffusers.__version__, transformers=transformers.__version__), "files": {}}
    for file, (folder, encoders) in FILES.items():
        tensors, names = numbered(HERE / "keys" / f"{file}.tsv")
        components = {}
        unet, vae = config_of(folder, "unet/config.json"), config_of(folder, "vae/config.json")
        components["unet"] = reference.convert_ldm_unet_checkpoint(dict(tensors), unet)
        components["vae"] = reference.convert_ldm_vae_checkpoint(dict(tensors), vae)
        with torch.device("meta"):
            require_same(f"{file} unet", components["unet"], UNet2DConditionModel.from_config(unet))
            require_same(f"{file} vae", components["vae"], AutoencoderKL.from_config(vae))
        for name, (prefix, kind) in encoders.items():
            config = config_of(folder, f"{name}/config.json")
            if kind == "clip":
                chosen = {k: v for k, v in tensors.items() if k.startswith(prefix)}
                components[name] = reference.convert_ldm_clip_checkpoint(chosen)
            else:
                model = SimpleNamespace(config=SimpleNamespace(hidden_size=config["hidden_size"]))
                components[name] = reference.convert_open_clip_checkpoint(model, tensors, prefix=prefix)
            cls = CLIPTextModelWithProjection if config["architectures"] == ["CLIPTextModelWithProjection"] else CLIPTextModel
            with torch.device("meta"):
                require_same(f"{file} {name}", components[name], cls(CLIPTextConfig(**config)))
        result["files"][file] = {"configs": folder, "components": {}}
        for name, converted in components.items():
            lines = described(converted, names)
            result["files"][file]["components"][name] = {"tensors": len(lines), "digest": digest(lines)}
            print(file, name, len(lines), lines[0].strip())
    for file, folder in TRANSFORMERS.items():
        tensors, names = numbered(HERE / "keys" / f"{file}.tsv")
        converted = reference.convert_sd3_transformer_checkpoint_to_diffusers(dict(tensors))
        with torch.device("meta"):
            require_same(f"{file} transformer", converted, SD3Transformer2DModel.from_config(config_of(folder, "transformer/config.json")))
        lines = described(converted, names)
        result["files"][file] = {"configs": folder, "components": {"transformer": {"tensors": len(lines), "digest": digest(lines)}}}
        print(file, len(lines), sum("swapped" in line for line in lines), "swapped")
    (HERE / "names.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
