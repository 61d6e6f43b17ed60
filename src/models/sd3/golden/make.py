"""Goldens of the transformer from diffusers' SD3Transformer2DModel.   python src/models/sd3/golden/make.py

Made with torch 2.15.0, diffusers 0.39.0. Writes one file per configuration; perturbed.safetensors: one base configuration with one key changed at
a time; skipped.safetensors: skip-layer guidance; and the structure of the published networks. A position table by its name is small, because its
fan-in is its whole size: it is multiplied by POSITIONS.
"""
import json
import sys
from pathlib import Path

import diffusers
import numpy as np
import torch
from diffusers import SD3Transformer2DModel

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"diffusers {diffusers.__version__}, torch {torch.__version__}"
POSITIONS = 16.0

# name: (config, batch, height, width, timesteps, text rows, weight factor)
CASES = {
    # as medium: no norms of queries and keys; the table is larger on both sides, by an odd and by an even number; a timestep for each image
    "medium": (dict(num_layers=3, num_attention_heads=2, attention_head_dim=8, caption_projection_dim=16, joint_attention_dim=20,
                    pooled_projection_dim=10, in_channels=4, out_channels=4, pos_embed_max_size=8, sample_size=8), 2, 6, 12, [1000.0, 8.9], 5, 1.0),
    # as 3.5 medium: dual attention in the first blocks, norms; taller than wide
    "dual": (dict(num_layers=4, num_attention_heads=3, attention_head_dim=4, caption_projection_dim=12, joint_attention_dim=9,
                  pooled_projection_dim=7, in_channels=3, out_channels=3, pos_embed_max_size=9, sample_size=8, dual_attention_layers=[0, 1, 2],
                  qk_norm="rms_norm"), 1, 14, 4, [437.25], 6, 1.0),
    # as 3.5 large: norms, no dual attention; as tall as the table, one token wide; one row of text; one timestep for both
    "large": (dict(num_layers=2, num_attention_heads=5, attention_head_dim=4, caption_projection_dim=20, joint_attention_dim=8,
                   pooled_projection_dim=12, in_channels=4, out_channels=4, pos_embed_max_size=7, sample_size=4, qk_norm="rms_norm"), 2, 14, 2,
              [712.5], 1, 1.0),
    # one block, which is the last and has dual attention; patches of three; channels from the input's
    "unusual": (dict(num_layers=1, num_attention_heads=4, attention_head_dim=3, caption_projection_dim=12, joint_attention_dim=5,
                     pooled_projection_dim=3, in_channels=5, out_channels=None, patch_size=3, pos_embed_max_size=6, sample_size=9,
                     dual_attention_layers=[0]), 1, 9, 15, [0.0], 4, 1.0),
    # weights × 0.03: every norm sees small values, so that an eps of 1e-5 where 1e-6 is right shows
    "faint": (dict(num_layers=2, num_attention_heads=2, attention_head_dim=4, caption_projection_dim=8, joint_attention_dim=6,
                   pooled_projection_dim=5, in_channels=4, out_channels=4, pos_embed_max_size=5, sample_size=8, dual_attention_layers=[0],
                   qk_norm="rms_norm"), 1, 4, 6, [250.0], 3, 0.03),
}


class Taps(golden.Taps):
    """Also of the blocks, which return (text, image)."""

    def __init__(self, net):
        super().__init__(net, lambda name: name in ("pos_embed", "time_text_embed", "context_embedder", "norm_out"))
        for i, block in enumerate(net.transformer_blocks):
            block.register_forward_hook(lambda _, __, y, i=i: self.add_both(i, y))

    def add_both(self, i, y):
        text, image = y
        self.add(f"transformer_blocks.{i}", image.detach().float().numpy())
        if text is not None:
            self.add(f"transformer_blocks.{i}.text", text.detach().float().numpy())


def made(config, factor):
    net = SD3Transformer2DModel.from_config(dict(config))
    net = golden.prepare(net, factor)
    table = net.pos_embed.pos_embed
    table.copy_((table.float() * np.float32(POSITIONS)).double())
    return net


def run(config, b, h, w, timesteps, rows, factor, taps, **how):
    net = made(config, factor)
    tap = Taps(net) if taps else None
    x = golden.image("input.x", b, h, w, net.config.in_channels)
    context = torch.from_numpy(golden.values("input.context", b, rows, net.config.joint_attention_dim)).double()
    pooled = torch.from_numpy(golden.values("input.pooled", b, net.config.pooled_projection_dim)).double()
    times = torch.tensor(timesteps if len(timesteps) == b else timesteps * b, dtype=torch.float64)
    with torch.no_grad():
        y = net(x, context, pooled, times, **how).sample
    return net, golden.channels_last(y), tap.arrays if tap else {}


def cases():
    for name, (config, b, h, w, timesteps, rows, factor) in CASES.items():
        net, y, taps = run(config, b, h, w, timesteps, rows, factor, True)
        assert np.isfinite(y).all()
        golden.save(HERE, name, {"y": y, **taps}, json.loads(net.to_json_string()), VERSIONS, batch=b, height=h, width=w, timesteps=timesteps,
                    rows=rows, factor=factor, positions=POSITIONS)


# Keys changed one at a time in the config of BASE: the values, and the output that the reference gives.
BASE = (dict(num_layers=2, num_attention_heads=2, attention_head_dim=4, caption_projection_dim=8, joint_attention_dim=6, pooled_projection_dim=5,
             in_channels=4, out_channels=4, pos_embed_max_size=8, sample_size=4), 1, 4, 8, [321.0], 3, 1.0)
CHANGES = {
    "sample_size": [64],
    "patch_size": [1, 4],
    "out_channels": [2, None],
    "in_channels": [3],
    "num_layers": [1, 3],
    "joint_attention_dim": [7],
    "pooled_projection_dim": [9],
    "pos_embed_max_size": [4, 9],
    "dual_attention_layers": [[1], [1, 0]],
    "qk_norm": ["rms_norm"],
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
    b, h, w, timesteps, rows, factor = rest
    golden.save(HERE, "perturbed", arrays, json.loads(net.to_json_string()), VERSIONS, changes=changes, batch=b, height=h, width=w,
                timesteps=timesteps, rows=rows, factor=factor, positions=POSITIONS)


# The last image of three with these blocks skipped.
SKIPS = [[1], [0], [1, 2], [3], [0, 2, 3], [0, 1, 2, 3]]


def skipped():
    config, _, h, w, timesteps, rows, factor = CASES["dual"]
    net, y, _ = run(config, 3, h, w, timesteps, rows, factor, False)
    arrays = {"plain": y}
    for i, layers in enumerate(SKIPS):
        arrays[f"y.{i}"] = run(config, 3, h, w, timesteps, rows, factor, False, skip_layers=layers)[1][2:]
    golden.save(HERE, "skipped", arrays, json.loads(net.to_json_string()), VERSIONS, skips=SKIPS, batch=3, height=h, width=w, timesteps=timesteps,
                rows=rows, factor=factor, positions=POSITIONS)


# Of the published networks. The files themselves were not available: ../README.md.
SD3_MEDIUM = dict(_class_name="SD3Transformer2DModel", _diffusers_version="0.29.0.dev0", attention_head_dim=64, caption_projection_dim=1536,
                  in_channels=16, joint_attention_dim=4096, num_attention_heads=24, num_layers=24, out_channels=16, patch_size=2,
                  pooled_projection_dim=2048, pos_embed_max_size=192, sample_size=128)
SD35_MEDIUM = {**SD3_MEDIUM, "_diffusers_version": "0.31.0", "dual_attention_layers": list(range(13)), "pos_embed_max_size": 384, "qk_norm": "rms_norm"}
SD35_LARGE = {**SD3_MEDIUM, "_diffusers_version": "0.31.0.dev0", "caption_projection_dim": 2432, "dual_attention_layers": [],
              "num_attention_heads": 38, "num_layers": 38, "qk_norm": "rms_norm"}


def structures():
    for name, config in {"sd3_medium": SD3_MEDIUM, "sd35_medium": SD35_MEDIUM, "sd35_large": SD35_LARGE}.items():
        with torch.device("meta"):
            net = SD3Transformer2DModel.from_config(config)
            inputs = torch.empty(1, 16, 32, 48), torch.empty(1, 9, 4096), torch.empty(1, 2048), torch.empty(1)
        golden.save_structure(HERE, name, net, VERSIONS, *inputs, **config)


def defaults():
    with torch.device("meta"):
        golden.save_defaults(HERE, json.loads(SD3Transformer2DModel().to_json_string()))


if __name__ == "__main__":
    cases()
    perturbed()
    skipped()
    structures()
    defaults()
