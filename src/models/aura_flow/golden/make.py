"""Goldens of the transformer from diffusers' AuraFlowTransformer2DModel.   python src/models/aura_flow/golden/make.py

Made with torch 2.15.0, diffusers 0.39.0. Writes one file per configuration; perturbed.safetensors: one base configuration with one key changed at
a time; and the structure of the published networks. A position table by its name is small, because its fan-in is its whole size: it is multiplied
by POSITIONS. The reference computes norms in f32; here they stay in float64.
"""
import json
import sys
from pathlib import Path

import diffusers
import numpy as np
import torch
from diffusers import AuraFlowTransformer2DModel

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"diffusers {diffusers.__version__}, torch {torch.__version__}"
POSITIONS = 16.0

# name: (config, batch, height, width, timesteps, text rows, weight factor)
CASES = {
    # a table that is larger on both sides, by an odd and by an even number; a timestep for each image
    "wide": (dict(num_mmdit_layers=2, num_single_dit_layers=2, num_attention_heads=2, attention_head_dim=8, caption_projection_dim=16,
                  joint_attention_dim=20, pos_embed_max_size=64, sample_size=8), 2, 6, 12, [1.0, 0.0089], 5, 1.0),
    # taller than wide; an odd table; more joint than single blocks
    "tall": (dict(num_mmdit_layers=3, num_single_dit_layers=1, num_attention_heads=3, attention_head_dim=4, caption_projection_dim=12,
                  joint_attention_dim=9, in_channels=3, out_channels=3, pos_embed_max_size=81, sample_size=8), 1, 18, 4, [0.43725], 6, 1.0),
    # patches of three, other channels out, one row of text, one timestep for both, the whole table
    "unusual": (dict(num_mmdit_layers=1, num_single_dit_layers=2, num_attention_heads=5, attention_head_dim=4, caption_projection_dim=20,
                     joint_attention_dim=8, in_channels=2, out_channels=5, patch_size=3, pos_embed_max_size=16, sample_size=9), 2, 12, 9, [0.7125], 1, 1.0),
    # weights × 0.03: every norm sees small values, so that an eps of 1e-6 where 1e-5 is right shows
    "faint": (dict(num_mmdit_layers=1, num_single_dit_layers=1, num_attention_heads=2, attention_head_dim=4, caption_projection_dim=8,
                   joint_attention_dim=6, pos_embed_max_size=25, sample_size=8), 1, 4, 6, [0.25], 3, 0.03),
}


class Taps(golden.Taps):
    """Also of the joint blocks, which return (text, image)."""

    def __init__(self, net):
        super().__init__(net, lambda name: name in ("pos_embed", "time_step_proj", "context_embedder", "norm_out")
                         or name.startswith("single_transformer_blocks.") and name.count(".") == 1)
        for i, block in enumerate(net.joint_transformer_blocks):
            block.register_forward_hook(lambda _, __, y, i=i: self.add_both(i, y))

    def add_both(self, i, y):
        text, image = y
        self.add(f"joint_transformer_blocks.{i}", image.detach().float().numpy())
        self.add(f"joint_transformer_blocks.{i}.text", text.detach().float().numpy())


def made(config, factor):
    net = golden.prepare(AuraFlowTransformer2DModel.from_config(dict(config)), factor)
    with torch.no_grad():
        table = net.pos_embed.pos_embed
        table.copy_((table.float() * np.float32(POSITIONS)).double())
    return net


def run(config, b, h, w, timesteps, rows, factor, taps):
    net = made(config, factor)
    tap = Taps(net) if taps else None
    x = golden.image("input.x", b, h, w, net.config.in_channels)
    text = torch.from_numpy(golden.values("input.text", b, rows, net.config.joint_attention_dim)).double()
    times = torch.tensor(timesteps if len(timesteps) == b else timesteps * b, dtype=torch.float64)
    kept, torch.Tensor.float = torch.Tensor.float, lambda y: y
    try:
        with torch.no_grad():
            y = net(x, text, times).sample
    finally:
        torch.Tensor.float = kept
    return net, golden.channels_last(y), tap.arrays if tap else {}


def cases():
    for name, (config, b, h, w, timesteps, rows, factor) in CASES.items():
        net, y, taps = run(config, b, h, w, timesteps, rows, factor, True)
        assert np.isfinite(y).all()
        golden.save(HERE, name, {"y": y, **taps}, json.loads(net.to_json_string()), VERSIONS, batch=b, height=h, width=w, timesteps=timesteps,
                    rows=rows, factor=factor, positions=POSITIONS)


# Keys changed one at a time in the config of BASE: the values, and the output that the reference gives.
BASE = (dict(num_mmdit_layers=1, num_single_dit_layers=1, num_attention_heads=2, attention_head_dim=4, caption_projection_dim=8, joint_attention_dim=6,
             pos_embed_max_size=64, sample_size=4), 1, 4, 8, [0.321], 3, 1.0)
CHANGES = {
    "sample_size": [64],
    "patch_size": [1, 4],
    "out_channels": [2],
    "in_channels": [3],
    "num_mmdit_layers": [2],
    "num_single_dit_layers": [2],
    "joint_attention_dim": [7],
    "pos_embed_max_size": [16, 81],
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


# Of the published networks. The files themselves were not available: ../README.md.
AURA_01 = dict(_class_name="AuraFlowTransformer2DModel", _diffusers_version="0.30.0.dev0", attention_head_dim=256, caption_projection_dim=3072, in_channels=4,
               joint_attention_dim=2048, num_attention_heads=12, num_mmdit_layers=4, num_single_dit_layers=32, out_channels=4, patch_size=2,
               pos_embed_max_size=4096, sample_size=64)
AURA_02 = {**AURA_01, "_diffusers_version": "0.31.0.dev0", "pos_embed_max_size": 9216}


def structures():
    for name, config in {"aura_01": AURA_01, "aura_02": AURA_02}.items():
        with torch.device("meta"):
            net = AuraFlowTransformer2DModel.from_config(config)
            inputs = torch.empty(1, 4, 32, 48), torch.empty(1, 9, 2048), torch.empty(1)
            golden.save_structure(HERE, name, net, VERSIONS, *inputs, **config)


def defaults():
    with torch.device("meta"):
        golden.save_defaults(HERE, json.loads(AuraFlowTransformer2DModel().to_json_string()))


if __name__ == "__main__":
    structures()
    defaults()
    cases()
    perturbed()
