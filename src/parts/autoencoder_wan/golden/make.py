"""Goldens of the autoencoder of Qwen-Image and Wan from diffusers' AutoencoderKLQwenImage.   python src/parts/autoencoder_wan/golden/make.py

Made with torch 2.15.0, diffusers 0.39.0. Each file holds the posterior of one picture and the picture of one latent, which is not clamped;
tiled.safetensors the same in tiles; perturbed.safetensors one base configuration with one key changed at a time; qwen-image.json the
full-size network.
"""
import json
import sys
from pathlib import Path

import diffusers
import torch
from diffusers import AutoencoderKLQwenImage

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"diffusers {diffusers.__version__}, torch {torch.__version__}"
SMALL = dict(base_dim=4, z_dim=4, dim_mult=[1, 2, 3, 3], num_res_blocks=1, latents_mean=[0.1, -0.2, 0.3, 0.4], latents_std=[1.5, 0.5, 2.0, 1.0])

# name: (config, batch, picture [height, width], latent [height, width], weight factor)
CASES = {
    "qwen": (dict(SMALL, num_res_blocks=2), 1, [16, 24], [2, 3], 1.0),
    # two levels, odd sides that are rounded down, other frames
    "two": (dict(SMALL, dim_mult=[2, 3], temperal_downsample=[True]), 2, [7, 10], [3, 2], 1.0),
    # weights × 1e-4: a wrong eps of the norms would show
    "faint": (dict(SMALL), 1, [16, 8], [1, 2], 1e-4),
}


def frame(name, *shape, factor=1.0):
    return golden.image(name, *shape, factor).unsqueeze(2)


def flat(y):
    return golden.channels_last(y.squeeze(2))


class Taps:
    def __init__(self, net):
        self.arrays = {}
        for name, child in net.named_modules():
            last = name.rpartition(".")[2]
            block = name.rpartition(".")[0].rpartition(".")[2] in ("up_blocks", "resnets", "attentions") and last.isdigit()
            resnet = name.startswith("encoder.down_blocks.") and name.count(".") == 2 and hasattr(child, "conv1")
            if block or resnet or name in ("encoder", "decoder", "encoder.conv_in", "decoder.conv_in", "quant_conv", "post_quant_conv"):
                child.register_forward_hook(lambda _, __, y, name=name: self.add(name, flat(y)))

    def add(self, name, array):
        values = array.reshape(-1)
        self.arrays[f"tap.{name}"] = values[:: -(-values.size // golden.TAP_VALUES)].copy()


def decoded(net, z):
    """The decoder's own result, which decode() clamps."""
    kept = []
    hook = net.decoder.register_forward_hook(lambda _, __, y: kept.append(y))
    net.decode(z)
    hook.remove()
    return kept[0]


def raw(net, latent):
    mean, std = (torch.tensor(values, dtype=torch.float64).view(1, -1, 1, 1, 1) for values in (net.config.latents_mean, net.config.latents_std))
    return latent * std + mean


def run(config, b, picture, latent, factor, taps):
    net = golden.prepare(AutoencoderKLQwenImage.from_config(dict(config)), factor)
    tap = Taps(net) if taps else None
    c = net.config
    with torch.no_grad():
        posterior = net.encode(frame("input.picture", b, *picture, c.input_channels)).latent_dist
        image = decoded(net, raw(net, frame("input.latent", b, *latent, c.z_dim)))
    return net, {"mean": flat(posterior.mean), "deviation": flat(posterior.std), "decoded": flat(image)}, tap.arrays if tap else {}


def cases():
    for name, (config, b, picture, latent, factor) in CASES.items():
        net, arrays, taps = run(config, b, picture, latent, factor, True)
        golden.save(HERE, name, {**arrays, **taps}, json.loads(net.to_json_string()), VERSIONS, batch=b, picture=picture, latent=latent, factor=factor)


# Tiles of 64 pixels, 16 of them shared.
def tiled():
    net = golden.prepare(AutoencoderKLQwenImage.from_config(dict(SMALL)), 1.0)
    net.enable_tiling(64, 64, 48, 48)
    arrays = {}
    with torch.no_grad():
        for name, b, h, w in [("grid", 1, 15, 9), ("column", 2, 11, 8), ("whole", 1, 8, 7)]:
            z = raw(net, frame(f"input.{name}", b, h, w, 4))
            arrays[name] = flat(net.tiled_decode(z).sample if name != "whole" else decoded(net, z))
            posterior = net.encode(frame(f"input.{name}.picture", b, 8 * h, 8 * w, 3)).latent_dist
            arrays |= {f"{name}.mean": flat(posterior.mean), f"{name}.deviation": flat(posterior.std)}
    golden.save(HERE, "tiled", arrays, json.loads(net.to_json_string()), VERSIONS, grid=[1, 15, 9], column=[2, 11, 8], whole=[1, 8, 7], factor=1.0)


BASE = (dict(SMALL, dim_mult=[1, 2], temperal_downsample=[False]), 1, [5, 4], [2, 3], 1.0)
CHANGES = {"base_dim": [6], "z_dim": [], "dim_mult": [[2, 1]], "num_res_blocks": [2], "temperal_downsample": [[True]], "input_channels": [2],
           "latents_mean": [[1.0, 2.0, 3.0, 4.0]], "latents_std": [[1.0, 2.0, 3.0, 4.0]], "dropout": [0.5]}


def perturbed():
    config, *rest = BASE
    net, base, _ = run(config, *rest, False)
    arrays, changes = {f"base.{key}": value for key, value in base.items()}, []
    for key, alternatives in CHANGES.items():
        for value in alternatives:
            _, y, _ = run({**config, key: value}, *rest, False)
            arrays.update({f"{len(changes)}.{name}": array for name, array in y.items()})
            changes.append({"key": key, "value": value, "same": all(golden.same(torch.from_numpy(y[name]), torch.from_numpy(base[name])) for name in y)})
            print("  same" if changes[-1]["same"] else "  other", key, value)
    b, picture, latent, factor = rest
    golden.save(HERE, "perturbed", arrays, json.loads(net.to_json_string()), VERSIONS, changes=changes, batch=b, picture=picture, latent=latent, factor=factor)


def structure():
    """Names and shapes alone: the reference computes all slices of the kernels."""
    with torch.device("meta"):
        net = AutoencoderKLQwenImage()
    config = {k: v for k, v in json.loads(net.to_json_string()).items() if k != "_diffusers_version"}
    structure = {"config": config, "reference": VERSIONS, "tensors": {key: list(value.shape) for key, value in net.state_dict().items()}}
    text = json.dumps(structure, indent=0, sort_keys=True).replace("[\n", "[").replace(",\n", ",").replace("\n]", "]").replace(',"', ',\n"')
    (HERE / "qwen-image.json").write_text(text + "\n")


golden.save_defaults(HERE, json.loads(AutoencoderKLQwenImage(base_dim=2, dim_mult=[1, 1, 1, 1]).to_json_string()) | {"base_dim": 96, "dim_mult": [1, 2, 4, 4]})
structure()
cases()
tiled()
perturbed()
