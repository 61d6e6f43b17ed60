"""Goldens of the small autoencoder from diffusers' AutoencoderTiny.   python src/parts/autoencoder_tiny/golden/make.py

Made with torch 2.15.0, diffusers 0.39.0. Each file holds the latents of one picture and the picture of one latent; tiled.safetensors pictures decoded in tiles;
perturbed.safetensors holds one base configuration with one key changed at a time.
"""
import json
import sys
from pathlib import Path

import diffusers
import torch
from diffusers import AutoencoderTiny

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"diffusers {diffusers.__version__}, torch {torch.__version__}"


def levels(width, encoder, decoder):
    return dict(encoder_block_out_channels=[width] * len(encoder), num_encoder_blocks=encoder,
                decoder_block_out_channels=[width] * len(decoder), num_decoder_blocks=decoder)


# name: (config, batch, picture [height, width], latent [height, width], weight factor)
CASES = {
    # the published geometry
    "taesd": (dict(), 1, [16, 24], [3, 2], 1.0),
    # other sizes on both sides, odd sides, another activation, several pictures, a scale of its own
    "small": (dict(levels(7, [2, 0, 1], [1, 2, 0]), latent_channels=6, act_fn="silu", scaling_factor=0.7), 2, [11, 14], [3, 5], 1.5),
    # TAESD3 and TAEF1: the published geometry with sixteen latent channels
    "sixteen": (dict(latent_channels=16), 1, [16, 8], [2, 3], 1.0),
    "flat": (dict(levels(5, [1], [2]), in_channels=1, out_channels=4, latent_channels=3, upsampling_scaling_factor=3), 2, [3, 5], [4, 3], 2.0),
}


def tapped(name):
    parent, _, last = name.rpartition(".")
    return name in ("encoder", "decoder") or last.isdigit() and parent.endswith(".layers")


def run(config, b, picture, latent, factor, taps):
    net = golden.prepare(AutoencoderTiny.from_config(dict(config)), factor)
    blocks = {name for name, module in net.named_modules() if type(module).__name__ == "AutoencoderTinyBlock"}
    tap = golden.Taps(net, lambda name: tapped(name) and (name in blocks or "." not in name)) if taps else None
    c = net.config
    with torch.no_grad():
        encoded = (net.encode(golden.image("input.picture", b, *picture, c.in_channels)).latents - c.shift_factor) * c.scaling_factor
        # latents well beyond the ±3 that the decoder limits them to
        z = golden.image("input.latent", b, *latent, c.latent_channels, 6) / c.scaling_factor + c.shift_factor
        decoded = net.decode(z).sample
    return net, {"encoded": golden.channels_last(encoded), "decoded": golden.channels_last(decoded)}, tap.arrays if tap else {}


def cases():
    for name, (config, b, picture, latent, factor) in CASES.items():
        net, arrays, taps = run(config, b, picture, latent, factor, True)
        print(f"{name}: latents {arrays['encoded'].std():.3f}, picture {arrays['decoded'].std():.3f}")
        golden.save(HERE, name, {**arrays, **taps}, json.loads(net.to_json_string()), VERSIONS, batch=b, picture=picture, latent=latent, factor=factor)


BASE = (levels(6, [1, 1], [1, 1]), 1, [6, 4], [2, 3], 2.0)
CHANGES = {
    "in_channels": [2],
    "out_channels": [1],
    "encoder_block_out_channels": [[8, 8]],
    "decoder_block_out_channels": [[8, 8]],
    "block_out_channels": [[4, 4]],
    "act_fn": ["gelu", "silu"],
    "latent_channels": [3],
    "upsampling_scaling_factor": [1, 3],
    "num_encoder_blocks": [[2, 1], [0, 1]],
    "num_decoder_blocks": [[1, 2], [1, 0]],
    "latent_magnitude": [5],
    "latent_shift": [0.25],
    "force_upcast": [True],
    "scaling_factor": [0.5],
    "shift_factor": [0.25],
}


def perturbed():
    config, *rest = BASE
    net, base, _ = run(config, *rest, False)
    arrays, changes = {f"base.{key}": value for key, value in base.items()}, []
    for key, alternatives in CHANGES.items():
        for value in alternatives:
            _, y, _ = run({**config, key: value}, *rest, False)
            arrays.update({f"{len(changes)}.{name}": array for name, array in y.items()})
            changes.append({"key": key, "value": value, "same": all(golden.same(y[name], base[name]) for name in y)})
            print("  same" if changes[-1]["same"] else "  other", key, value)
    b, picture, latent, factor = rest
    golden.save(HERE, "perturbed", arrays, json.loads(net.to_json_string()), VERSIONS, changes=changes, batch=b, picture=picture, latent=latent, factor=factor)


# Tiles of 8 latent pixels, 1 of them shared: several rows and columns, the last ones narrow; and one that fits a tile. Four levels: the
# reference's tiles take the factor 8 for granted.
TILED = levels(5, [1, 1, 1, 1], [1, 1, 1, 0])


def tiled():
    net = golden.prepare(AutoencoderTiny.from_config(dict(TILED)), 1.5)
    net.enable_tiling()
    net.tile_latent_min_size = 8
    arrays = {}
    with torch.no_grad():
        for name, b, latent in [("grid", 1, [15, 9]), ("column", 2, [10, 3]), ("whole", 1, [7, 5])]:
            arrays[name] = golden.channels_last(net.decode(golden.image(f"input.{name}", b, *latent, 4, 3)).sample)
    golden.save(HERE, "tiled", arrays, json.loads(net.to_json_string()), VERSIONS, grid=[1, 15, 9], column=[2, 10, 3], whole=[1, 7, 5], factor=1.5)
    # Pictures in tiles of 128 pixels. The reference has no tiles of encoders for other numbers of latent channels, and fails with smaller ones.
    net.tile_sample_min_size = 128
    arrays = {}
    with torch.no_grad():
        for name, b, picture in [("grid", 1, [248, 136]), ("row", 2, [40, 136]), ("whole", 1, [96, 112])]:
            arrays[name] = golden.channels_last(net.encode(golden.image(f"input.{name}", b, *picture, 3)).latents)
    golden.save(HERE, "tiled_encode", arrays, json.loads(net.to_json_string()), VERSIONS, grid=[1, 248, 136], row=[2, 40, 136], whole=[1, 96, 112], factor=1.5)


# The published config.json of TAESD (and of that for Stable Diffusion XL).
TAESD = dict(_class_name="AutoencoderTiny", _diffusers_version="0.20.0.dev0", act_fn="relu", decoder_block_out_channels=[64] * 4,
             encoder_block_out_channels=[64] * 4, force_upcast=False, in_channels=3, latent_channels=4, latent_magnitude=3, latent_shift=0.5,
             num_decoder_blocks=[3, 3, 3, 1], num_encoder_blocks=[1, 3, 3, 3], out_channels=3, scaling_factor=1.0, upsampling_scaling_factor=2)


class Round(torch.nn.Module):
    """Encode and decode, without the bytes between them of AutoencoderTiny.forward."""

    def __init__(self, net):
        super().__init__()
        self.encoder, self.decoder = net.encoder, net.decoder

    def forward(self, x):
        return self.decoder(self.encoder(x))


def structures():
    with torch.device("meta"):
        golden.save_structure(HERE, "published", Round(AutoencoderTiny.from_config(TAESD)), VERSIONS, torch.empty(1, 3, 64, 64), **TAESD)


def defaults():
    with torch.device("meta"):
        golden.save_defaults(HERE, json.loads(AutoencoderTiny().to_json_string()))


torch.set_num_threads(1)
cases()
tiled()
perturbed()
structures()
defaults()
