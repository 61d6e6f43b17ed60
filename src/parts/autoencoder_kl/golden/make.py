"""Goldens of the VAE from diffusers' AutoencoderKL.   python src/parts/autoencoder_kl/golden/make.py

Made with torch 2.15.0, diffusers 0.39.0. Each file holds the posterior of one picture and the picture of one latent;
perturbed.safetensors holds one base configuration with one key changed at a time.
"""
import json
import re
import sys
from pathlib import Path

import diffusers
import torch
from diffusers import AutoencoderKL

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"diffusers {diffusers.__version__}, torch {torch.__version__}"


def levels(*channels):
    return dict(block_out_channels=list(channels), down_block_types=["DownEncoderBlock2D"] * len(channels),
                up_block_types=["UpDecoderBlock2D"] * len(channels))


# name: (config, batch, picture [height, width], latent [height, width], weight factor)
CASES = {
    "sd1": (dict(levels(8, 12, 16, 16), layers_per_block=2, norm_num_groups=4, latent_channels=4), 1, [16, 24], [2, 3], 1.0),
    # no quant convolutions, a shift, odd sides that are rounded down at each level; act_fn leaves the output's SiLU alone
    "shifted": (dict(levels(4, 8, 12), layers_per_block=1, norm_num_groups=2, latent_channels=6, act_fn="gelu", use_quant_conv=False,
                     use_post_quant_conv=False, scaling_factor=0.3611, shift_factor=0.1159), 2, [11, 14], [3, 2], 1.0),
    # the layout of Stable Diffusion 3 and FLUX.1: sixteen latent channels
    "sixteen": (dict(levels(4, 8, 8, 8), layers_per_block=2, norm_num_groups=2, latent_channels=16, use_quant_conv=False, use_post_quant_conv=False,
                     scaling_factor=1.5305, shift_factor=0.0609), 1, [24, 16], [2, 3], 1.0),
    # one level, no attention, other numbers of picture channels
    "flat": (dict(levels(9), layers_per_block=1, norm_num_groups=3, latent_channels=2, in_channels=1, out_channels=4,
                  mid_block_add_attention=False, use_post_quant_conv=False, scaling_factor=1.5), 2, [3, 5], [4, 3], 1.0),
    # weights × 0.03: every norm sees a small variance, so that a wrong eps shows
    "faint": (dict(levels(8, 8), layers_per_block=1, norm_num_groups=2, latent_channels=4), 1, [6, 8], [3, 4], 0.03),
    # weights × 25: logarithms of the variance far outside −30 … 20
    "loud": (dict(levels(8), layers_per_block=1, norm_num_groups=2, latent_channels=4), 1, [4, 4], [4, 4], 25.0),
}


def tapped(name):
    parent, _, last = name.rpartition(".")
    block = parent.rpartition(".")[2] in ("down_blocks", "up_blocks", "resnets", "attentions")
    return block and last.isdigit() or name.rpartition(".")[2] in ("mid_block", "quant_conv", "post_quant_conv") or name in ("encoder", "decoder", "encoder.conv_in", "decoder.conv_in")


def run(config, b, picture, latent, factor, taps):
    net = golden.prepare(AutoencoderKL.from_config(dict(config)), factor)
    tap = golden.Taps(net, tapped) if taps else None
    c = net.config
    with torch.no_grad():
        posterior = net.encode(golden.image("input.picture", b, *picture, c.in_channels)).latent_dist
        z = golden.image("input.latent", b, *latent, c.latent_channels) / c.scaling_factor + (c.shift_factor or 0.0)
        decoded = net.decode(z).sample
    arrays = {"mean": golden.channels_last(posterior.mean), "deviation": golden.channels_last(posterior.std), "decoded": golden.channels_last(decoded)}
    return net, arrays, tap.arrays if tap else {}


def cases():
    for name, (config, b, picture, latent, factor) in CASES.items():
        net, arrays, taps = run(config, b, picture, latent, factor, True)
        golden.save(HERE, name, {**arrays, **taps}, json.loads(net.to_json_string()), VERSIONS, batch=b, picture=picture, latent=latent, factor=factor)


# Tiles of 32 pixels, 8 of them shared: several rows and columns, the last ones narrow; sample_size is the side of a tile.
TILED = dict(levels(4, 8, 8), layers_per_block=1, norm_num_groups=2, latent_channels=4, sample_size=32)


def tiled():
    net = golden.prepare(AutoencoderKL.from_config(dict(TILED)), 1.0)
    net.enable_tiling()
    arrays = {}
    with torch.no_grad():
        for name, b, latent in [("grid", 1, [21, 15]), ("column", 2, [13, 8]), ("whole", 1, [8, 7])]:
            z = golden.image(f"input.{name}", b, *latent, 4) / net.config.scaling_factor
            arrays[name] = golden.channels_last(net.decode(z).sample)
    golden.save(HERE, "tiled", arrays, json.loads(net.to_json_string()), VERSIONS, grid=[1, 21, 15], column=[2, 13, 8], whole=[1, 8, 7], factor=1.0)


# Encoded in the same tiles, with quant convolutions and, sixteen latent channels and a shift, without; sides that factors do not divide.
TILED_16 = dict(levels(4, 8, 8), layers_per_block=1, norm_num_groups=2, latent_channels=16, sample_size=32, use_quant_conv=False, use_post_quant_conv=False,
                scaling_factor=0.3611, shift_factor=0.1159)


def tiled_both_ways():
    for file, config in [("tiled_encode", TILED), ("tiled_sixteen", TILED_16)]:
        net = golden.prepare(AutoencoderKL.from_config(dict(config)), 1.0)
        net.enable_tiling()
        arrays = {}
        with torch.no_grad():
            for name, b, picture in [("grid", 1, [65, 70]), ("row", 2, [30, 44]), ("whole", 1, [32, 19])]:
                posterior = net.encode(golden.image(f"input.{name}", b, *picture, 3)).latent_dist
                arrays |= {f"{name}.mean": golden.channels_last(posterior.mean), f"{name}.deviation": golden.channels_last(posterior.std)}
            if file == "tiled_sixteen":
                z = golden.image("input.latent", 1, 9, 10, 16) / net.config.scaling_factor + net.config.shift_factor
                arrays["latent.decoded"] = golden.channels_last(net.decode(z).sample)
        golden.save(HERE, file, arrays, json.loads(net.to_json_string()), VERSIONS, grid=[1, 65, 70], row=[2, 30, 44], whole=[1, 32, 19], factor=1.0)


BASE = (dict(levels(4, 8), layers_per_block=1, norm_num_groups=2, latent_channels=4, sample_size=32), 1, [5, 4], [2, 3], 1.0)
CHANGES = {
    "in_channels": [2],
    "out_channels": [1],
    "block_out_channels": [[8, 4]],
    "layers_per_block": [2],
    "act_fn": ["gelu", "relu", "swish"],
    "latent_channels": [3],
    "norm_num_groups": [4],
    "sample_size": [64, [8, 8]],
    "scaling_factor": [0.5],
    "shift_factor": [0.25],
    "force_upcast": [False],
    "use_quant_conv": [False],
    "use_post_quant_conv": [False],
    "mid_block_add_attention": [False],
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


# The published vae/config.json of Stable Diffusion 1.5.
SD15 = dict(levels(128, 256, 512, 512), _class_name="AutoencoderKL", _diffusers_version="0.6.0", act_fn="silu", in_channels=3, latent_channels=4,
            layers_per_block=2, norm_num_groups=32, out_channels=3, sample_size=512)


# The published vae/config.json of FLUX.1; that of Stable Diffusion 3 has other factors and no mid_block_add_attention.
FLUX = dict(SD15, _diffusers_version="0.30.0.dev0", force_upcast=True, latent_channels=16, latents_mean=None, latents_std=None,
            mid_block_add_attention=True, sample_size=1024, scaling_factor=0.3611, shift_factor=0.1159, use_post_quant_conv=False, use_quant_conv=False)


def original_names():
    """The names in ae.safetensors (Black Forest Labs' AutoEncoder), shapes and all, as the reference's converter reads them."""
    from diffusers.loaders.single_file_utils import convert_ldm_vae_checkpoint

    with torch.device("meta"):
        official = AutoencoderKL.from_config(FLUX).state_dict()
        original = {}
        ends = {"conv_norm_out": "norm_out", "mid_block.resnets.0": "mid.block_1", "mid_block.resnets.1": "mid.block_2",
                "mid_block.attentions.0.group_norm": "mid.attn_1.norm", "mid_block.attentions.0.to_out.0": "mid.attn_1.proj_out",
                "mid_block.attentions.0.to_": "mid.attn_1.", "conv_shortcut": "nin_shortcut", "downsamplers.0": "downsample", "upsamplers.0": "upsample",
                ".resnets.": ".block.", "down_blocks": "down"}
        for name, value in official.items():
            for ours, theirs in ends.items():
                name = name.replace(ours, theirs)
            if "up_blocks." in name:
                before, level, rest = re.match(r"(.*)up_blocks\.(\d)\.(.*)", name).groups()
                name = f"{before}up.{3 - int(level)}.{rest}"
            original[name] = value[..., None, None] if ".attn_1." in name and value.ndim == 2 else value
        converted = convert_ldm_vae_checkpoint(dict(original), FLUX)
    assert {k: v.shape for k, v in converted.items()} == {k: v.shape for k, v in official.items()}
    return {name: list(value.shape) for name, value in original.items()}


def structures():
    """The products of a whole round: encode 64 × 64 pixels, decode the mode."""
    with torch.device("meta"):
        for name, config in [("sd15", SD15), ("flux", FLUX)]:
            golden.save_structure(HERE, name, AutoencoderKL.from_config(config), VERSIONS, torch.empty(1, 3, 64, 64), **config)
    lines = ",\n".join(f'"{name}": {shape}' for name, shape in sorted(original_names().items()))
    (HERE / "flux_original.json").write_text("{\n" + lines + "\n}\n")


def defaults():
    with torch.device("meta"):
        golden.save_defaults(HERE, json.loads(AutoencoderKL().to_json_string()))


cases()
tiled()
tiled_both_ways()
perturbed()
structures()
defaults()
