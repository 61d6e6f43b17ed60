"""Goldens of the transformer from diffusers' PixArtTransformer2DModel.   python src/models/pixart/golden/make.py

Made with torch 2.15.0, diffusers 0.39.0. Writes one file per configuration; perturbed.safetensors: one base configuration with one key changed at
a time; positions.safetensors: tables of positions; and the structure of the published networks.
"""
import json
import sys
from pathlib import Path

import diffusers
import numpy as np
import torch
from diffusers import PixArtTransformer2DModel
from diffusers.models.embeddings import get_2d_sincos_pos_embed

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"diffusers {diffusers.__version__}, torch {torch.__version__}"

# name: (config, batch, height, width, timesteps, text rows, lengths or None, size in pixels or None, weight factor)
CASES = {
    # as α at 1024 pixels: the image's size is an input; texts of several lengths; a timestep for each image; wide
    "alpha": (dict(num_layers=3, num_attention_heads=2, attention_head_dim=12, cross_attention_dim=24, caption_channels=20, sample_size=128), 2, 6, 10,
              [999.0, 21.5], 7, [7, 2], [832, 1216], 1.0),
    # as Σ: no size; an interpolation of its own; tall
    "sigma": (dict(num_layers=2, num_attention_heads=3, attention_head_dim=4, cross_attention_dim=12, caption_channels=9, sample_size=64,
                   interpolation_scale=0.5, use_additional_conditions=False), 1, 14, 4, [437.25], 6, [4], None, 1.0),
    # the size of the training images; one timestep for both; all rows of the text
    "square": (dict(num_layers=2, num_attention_heads=2, attention_head_dim=8, cross_attention_dim=16, caption_channels=12, sample_size=8), 2, 8, 8,
               [712.0], 3, None, None, 1.0),
    # one block; patches of three; no projection of the text; equal numbers of input and output channels; no biases of queries, keys, values
    "unusual": (dict(num_layers=1, num_attention_heads=4, attention_head_dim=3, cross_attention_dim=5, in_channels=5, out_channels=None, patch_size=3,
                     sample_size=10, attention_bias=False, num_embeds_ada_norm=10), 1, 9, 15, [0.0], 4, [1], None, 1.0),
    # weights × 0.03: every norm sees small values, so that an eps of 1e-5 where 1e-6 is right shows
    "faint": (dict(num_layers=2, num_attention_heads=2, attention_head_dim=6, cross_attention_dim=12, caption_channels=6, sample_size=8,
                   use_additional_conditions=True), 1, 4, 6, [250.0], 3, [2], [64, 96], 0.03),
}


class Taps(golden.Taps):
    """Also what the last norm gives after its modulation."""

    def __init__(self, net):
        super().__init__(net, lambda name: name in ("pos_embed", "adaln_single.emb", "adaln_single.linear", "caption_projection")
                         or name.startswith("transformer_blocks.") and name.count(".") == 1)
        net.proj_out.register_forward_pre_hook(lambda _, x: self.add("norm_out", x[0].detach().float().numpy()))


def run(config, b, h, w, timesteps, rows, lengths, size, factor, taps):
    net = golden.prepare(PixArtTransformer2DModel.from_config(dict(config)), factor)
    tap = Taps(net) if taps else None
    x = golden.image("input.x", b, h, w, net.config.in_channels)
    width = net.config.caption_channels or net.config.cross_attention_dim
    text = torch.from_numpy(golden.values("input.text", b, rows, width)).double()
    times = torch.tensor(timesteps if len(timesteps) == b else timesteps * b, dtype=torch.float64)
    mask = None if lengths is None else torch.tensor([[int(t < n) for t in range(rows)] for n in lengths])
    added = {"resolution": None, "aspect_ratio": None}
    if size is not None:
        added = {"resolution": torch.tensor([size]).repeat(b, 1).float(), "aspect_ratio": torch.tensor([size[0] / size[1]]).repeat(b, 1).float()}
    with torch.no_grad():
        y = net(x, encoder_hidden_states=text, timestep=times, added_cond_kwargs=added, encoder_attention_mask=mask).sample
    return net, golden.channels_last(y), tap.arrays if tap else {}


def facts(b, h, w, timesteps, rows, lengths, size, factor):
    return dict(batch=b, height=h, width=w, timesteps=timesteps, rows=rows, lengths=lengths or [], size=size or [], factor=factor)


def cases():
    for name, (config, *rest) in CASES.items():
        net, y, taps = run(config, *rest, True)
        assert np.isfinite(y).all()
        golden.save(HERE, name, {"y": y, **taps}, json.loads(net.to_json_string()), VERSIONS, **facts(*rest))


# Keys changed one at a time in the config of BASE: the values, and the output that the reference gives.
BASE = (dict(num_layers=2, num_attention_heads=2, attention_head_dim=6, cross_attention_dim=12, caption_channels=6, in_channels=4, out_channels=8,
             sample_size=128), 1, 4, 8, [321.0], 3, [2], [96, 64], 1.0)
CHANGES = {
    "sample_size": [64, 32],
    "patch_size": [1, 4],
    "out_channels": [4, None],
    "in_channels": [3],
    "num_layers": [1, 3],
    "caption_channels": [7],
    "attention_bias": [False],
    "norm_eps": [0.1],
    "interpolation_scale": [1, 0.5, None],
    "use_additional_conditions": [False, True],
    "dropout": [0.5],
    "norm_num_groups": [4],
    "num_embeds_ada_norm": [10],
}


def perturbed():
    config, *rest = BASE
    net, base, _ = run(config, *rest, False)
    arrays, changes = {"base": base}, []
    for key, alternatives in CHANGES.items():
        for value in alternatives:
            _, y, _ = run({**config, key: value}, *rest, False)
            changes.append({"key": key, "value": value, "same": golden.same(y, base)})
            arrays[f"y.{len(changes) - 1}"] = y
    for change in changes:
        print("  same" if change["same"] else "  other", change["key"], change["value"])
    golden.save(HERE, "perturbed", arrays, json.loads(net.to_json_string()), VERSIONS, changes=changes, **facts(*rest))


POSITIONS = [(4, 6, 8, 5, 1.0), (9, 3, 12, 32, 2.0), (7, 7, 4, 16, 0.5), (3, 1, 16, 64, 2.0), (5, 130, 4, 128, 4.0)]  # rows, columns, width, base, scale


def positions():
    tables = {str(i): get_2d_sincos_pos_embed(width, (rows, columns), base_size=base, interpolation_scale=scale, output_type="pt").numpy()
              for i, (rows, columns, width, base, scale) in enumerate(POSITIONS)}
    golden.save(HERE, "positions", tables, {}, VERSIONS, tables=POSITIONS)


# The published transformer/config.json of α at 1024 pixels, and what others change. The files themselves were not available: ../README.md.
ALPHA_1024 = dict(_class_name="Transformer2DModel", _diffusers_version="0.22.0.dev0", activation_fn="gelu-approximate", attention_bias=True,
                  attention_head_dim=72, attention_type="default", caption_channels=4096, cross_attention_dim=1152, double_self_attention=False, dropout=0.0,
                  in_channels=4, norm_elementwise_affine=False, norm_eps=1e-06, norm_num_groups=32, norm_type="ada_norm_single", num_attention_heads=16,
                  num_embeds_ada_norm=1000, num_layers=28, num_vector_embeds=None, only_cross_attention=False, out_channels=8, patch_size=2, sample_size=128,
                  upcast_attention=False, use_linear_projection=False)
ALPHA_512 = {**ALPHA_1024, "sample_size": 64}
SIGMA_1024 = {**ALPHA_1024, "_diffusers_version": "0.28.0.dev0", "interpolation_scale": 2, "use_additional_conditions": False}
LEGACY = ("double_self_attention", "num_vector_embeds", "only_cross_attention", "use_linear_projection")


def structures():
    for name, config in {"alpha_1024": ALPHA_1024, "alpha_512": ALPHA_512, "sigma_1024": SIGMA_1024}.items():
        own = {key: value for key, value in config.items() if key not in LEGACY and key != "_class_name"}
        with torch.device("meta"):
            net = PixArtTransformer2DModel.from_config(own)
            x, text, time = torch.empty(1, 4, 128, 96), torch.empty(1, 9, 4096), torch.empty(1)
            added = {"resolution": torch.empty(1, 2), "aspect_ratio": torch.empty(1, 1)} if net.use_additional_conditions else None

        class Called(torch.nn.Module):  # the reference computes positions on the CPU
            def forward(self, *_):
                with torch.device("meta"):
                    return net(x, encoder_hidden_states=text, timestep=time, added_cond_kwargs=added)

            def state_dict(self):
                return net.state_dict()

        golden.save_structure(HERE, name, Called(), VERSIONS, **config)


def defaults():
    with torch.device("meta"):
        golden.save_defaults(HERE, json.loads(PixArtTransformer2DModel().to_json_string()))


if __name__ == "__main__":
    cases()
    perturbed()
    positions()
    structures()
    defaults()
