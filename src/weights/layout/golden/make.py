"""Makes names.json: which official tensor the reference's converters take from which original one, for the full tensor lists of
published files (keys), as a count and a digest per component. src/models/names_test.cpp compares ours.

    python make.py        (tools/oracle-requirements.txt)

Every original tensor holds a number of its own, so that a converted one tells where it came from, and from which of its rows. The recipe
also builds the networks from the built-in configurations (src/models/*/configs) and stops unless their tensors are those that came out.
"""
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import diffusers
import torch
import transformers
from diffusers import AutoencoderKL, FluxTransformer2DModel, SD3Transformer2DModel, UNet2DConditionModel
from diffusers.loaders import single_file_utils as reference
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
CONFIGS = {folder.name: folder for folder in ROOT.glob("src/models/*/configs/*")}

UNET_AND_VAE = {"unet": (reference.convert_ldm_unet_checkpoint, UNet2DConditionModel), "vae": (reference.convert_ldm_vae_checkpoint, AutoencoderKL)}
FLUX = {"transformer": (lambda tensors, config: reference.convert_flux_transformer_checkpoint_to_diffusers(tensors), FluxTransformer2DModel)}
SD3 = {"transformer": (lambda tensors, config: reference.convert_sd3_transformer_checkpoint_to_diffusers(tensors), SD3Transformer2DModel)}
# list → configurations; component → (converter, class); text encoder → (prefix, kind)
FILES = {
    "sd15-single-file": ("sd15", UNET_AND_VAE, {"text_encoder": ("cond_stage_model.transformer.", "clip")}),
    "sd21-single-file": ("sd21", UNET_AND_VAE, {"text_encoder": ("cond_stage_model.model.", "open_clip")}),
    "sdxl-single-file": ("sdxl", UNET_AND_VAE, {"text_encoder": ("conditioner.embedders.0.transformer.", "clip"),
                                                "text_encoder_2": ("conditioner.embedders.1.model.", "open_clip")}),
    "refiner-single-file": ("sdxl-refiner", UNET_AND_VAE, {"text_encoder_2": ("conditioner.embedders.0.model.", "open_clip")}),
    "sd3-medium-sai": ("sd3-medium", SD3, {}),
    "sd35-medium-sai": ("sd35-medium", SD3, {}),
    "sd35-large-sai": ("sd35-large", SD3, {}),
    "flux1-dev-bfl": ("flux1-dev", FLUX, {}),
    "flux1-schnell-bfl": ("flux1-schnell", FLUX, {}),
    "flux1-fill-bfl": ("flux1-fill-dev", FLUX, {}),
}
# Equal parts of the rows of tensors that the converters cut or swap: q, k and v; these and an MLP of four times the width; shift and scale.
PARTS = {".in_proj_": 3, ".qkv.": 3, ".linear1.": 7, ".adaLN_modulation.": 2}


def parts_of(name):
    return next((parts for mark, parts in PARTS.items() if mark in name), 1)


def numbered(path):
    """name → a tensor of its shape that takes no memory: 8 · its number, plus the part of its rows."""
    tensors, names = {}, []
    for line in path.read_text().splitlines():
        name, shape = line.split("\t")
        shape = tuple(int(d) for d in shape.split(","))
        number, parts = 8 * len(names), parts_of(name)
        if name.endswith("text_projection"):
            tensors[name] = torch.full(shape, number, dtype=torch.int16)
            tensors[name][0, 1] += 1
        else:
            column = torch.arange(parts, dtype=torch.int16).repeat_interleave(shape[0] // parts) + number if parts > 1 else torch.tensor([number])
            tensors[name] = column.to(torch.int16).reshape(-1, *[1] * (len(shape) - 1)).expand(shape)
        names.append(name)
    return tensors, names


def cat(tensors, dim=0):
    """torch.cat without a copy of a single tensor: the converters "join" every part that they cut."""
    return tensors[0] if len(tensors) == 1 else torch_cat(tensors, dim)


torch_cat, torch.cat = torch.cat, cat


def described(converted, names):
    """One line per official tensor: its name, the original one, the form and the shape."""
    lines = []
    for official, value in converted.items():
        column = value[(slice(None), *[0] * (value.dim() - 1))] if value.dim() else value[None]
        number = int(column[0]) // 8 * 8
        stored = names[number // 8]
        form, parts = "same", parts_of(stored)
        found = [int(x) - number for x in torch.unique_consecutive(column)] if parts > 1 else [0]
        if found == list(range(parts))[::-1] and parts == 2:
            form = "swapped"
        elif found != list(range(parts)):
            assert found == list(range(found[0], found[-1] + 1)), (official, found)
            form = f"rows {found[0]} to {found[-1] + 1} of {parts}"
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
    for file, (folder, networks, encoders) in FILES.items():
        tensors, names = numbered(HERE / "keys" / f"{file}.tsv")
        components = {}
        for name, (convert, cls) in networks.items():
            config = config_of(folder, f"{name}/config.json")
            components[name] = convert(dict(tensors), config)
            with torch.device("meta"):
                require_same(f"{file} {name}", components[name], cls.from_config(config))
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
    (HERE / "names.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
