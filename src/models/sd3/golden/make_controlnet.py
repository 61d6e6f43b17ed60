"""Goldens of ControlNets from diffusers' SD3ControlNetModel.   python src/models/sd3/golden/make_controlnet.py

Made with torch 2.15.0, diffusers 0.39.0. Writes one file per configuration; controlnet_perturbed.safetensors: one base configuration with one key
changed at a time; controlnet_defaults.json; and sd35_controlnet.json: the structure of Stability's networks for 3.5 large, whose configuration is
that of diffusers' converter. Position tables are multiplied as in make.py.
"""
import json
import sys
from pathlib import Path

import diffusers
import numpy as np
import torch
from diffusers import SD3ControlNetModel, SD3Transformer2DModel

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"diffusers {diffusers.__version__}, torch {torch.__version__}"
POSITIONS = 16.0

SMALL = dict(num_layers=2, num_attention_heads=2, attention_head_dim=8, caption_projection_dim=16, joint_attention_dim=20, pooled_projection_dim=10,
             in_channels=4, pos_embed_max_size=8, sample_size=8)
SHARED = dict(SMALL, joint_attention_dim=None, use_pos_embed=False, pos_embed_type=None, pos_embed_max_size=None,
              force_zeros_for_pooled_projection=False)

# name: (config, batch, height, width, timesteps, text rows, weight factor)
CASES = {
    "controlnet_text": (SMALL, 2, 6, 12, [1000.0, 8.9], 5, 1.0),
    "controlnet_dual": (dict(SMALL, num_layers=3, qk_norm="rms_norm", dual_attention_layers=[0, 2], extra_conditioning_channels=1,
                             pos_embed_max_size=7), 1, 14, 4, [437.25], 6, 1.0),
    "controlnet_alone": (dict(SHARED, num_layers=3), 2, 4, 10, [712.5], 1, 1.0),  # a transformer's patches and positions
    "controlnet_bare": (dict(SMALL, pos_embed_type=None, num_layers=1), 1, 6, 6, [3.0], 2, 1.0),  # no positions
    "controlnet_faint": (dict(SHARED, num_layers=1), 1, 4, 6, [250.0], 3, 0.03),
}


class Taps(golden.Taps):
    def __init__(self, net):
        super().__init__(net, lambda name: name in ("pos_embed", "pos_embed_input", "time_text_embed", "context_embedder"))
        for i, block in enumerate(net.transformer_blocks):
            block.register_forward_hook(lambda _, __, y, i=i: self.add_both(i, y))

    def add_both(self, i, y):
        if isinstance(y, tuple):
            self.add(f"transformer_blocks.{i}.text", y[0].detach().float().numpy())
        self.add(f"transformer_blocks.{i}", (y[1] if isinstance(y, tuple) else y).detach().float().numpy())


def transformer_of(config):
    keys = ("num_attention_heads", "attention_head_dim", "caption_projection_dim", "in_channels", "sample_size")
    return SD3Transformer2DModel(**{k: config[k] for k in keys}, num_layers=1, joint_attention_dim=20, pooled_projection_dim=10, pos_embed_max_size=9)


def made(config, factor):
    net = SD3ControlNetModel.from_config(dict(config))
    net = golden.prepare(net, factor)
    if config.get("use_pos_embed", True) is False:
        net.pos_embed = net._get_pos_embed_from_transformer(golden.prepare(transformer_of(config), factor)).double()
    table = getattr(net.pos_embed, "pos_embed", None)
    if table is not None:
        table.copy_((table.float() * np.float32(POSITIONS)).double())
    return net


def run(config, b, h, w, timesteps, rows, factor, taps):
    net = made(config, factor)
    tap = Taps(net) if taps else None
    c = net.config
    x = golden.image("input.x", b, h, w, c.in_channels)
    control = golden.image("input.control", b, h, w, c.in_channels + c.extra_conditioning_channels)
    context = None
    if c.joint_attention_dim is not None:
        context = torch.from_numpy(golden.values("input.context", b, rows, c.joint_attention_dim)).double()
    pooled = torch.from_numpy(golden.values("input.pooled", b, c.pooled_projection_dim)).double()
    times = torch.tensor(timesteps if len(timesteps) == b else timesteps * b, dtype=torch.float64)
    with torch.no_grad():
        if c.use_pos_embed is False:  # the forward pass refuses what its pipeline does: it has the transformer's patches
            y = net(x, control, 1.0, None, pooled, times, return_dict=False)[0]
        else:
            y = net(x, control, 1.0, context, pooled, times, return_dict=False)[0]
    return net, {f"y.{i}": one.float().numpy() for i, one in enumerate(y)}, tap.arrays if tap else {}


def facts(b, h, w, timesteps, rows, factor):
    return dict(batch=b, height=h, width=w, timesteps=timesteps, rows=rows, factor=factor, positions=POSITIONS, shared_side=9)


CHANGES = {"in_channels": [3], "num_layers": [1], "joint_attention_dim": [9], "pooled_projection_dim": [7], "patch_size": [3], "pos_embed_max_size": [6],
           "extra_conditioning_channels": [1], "dual_attention_layers": [[1]], "qk_norm": ["rms_norm"], "pos_embed_type": [None], "out_channels": [9],
           "sample_size": [16]}


def main():
    for name, (config, *rest) in CASES.items():
        net, ys, taps = run(config, *rest, True)
        golden.save(HERE, name, {**ys, **taps}, json.loads(net.to_json_string()), VERSIONS, **facts(*rest))
    base = (dict(SMALL), 1, 6, 12, [321.0], 3, 1.0)
    net, ys, _ = run(*base, False)
    arrays, changes = {"base": ys["y.0"]}, []
    for key, alternatives in CHANGES.items():
        for value in alternatives:
            _, y, _ = run({**base[0], key: value}, *base[1:], False)
            changes.append({"key": key, "value": value})
            arrays[f"y.{len(changes) - 1}"] = y["y.0"]
    golden.save(HERE, "controlnet_perturbed", arrays, json.loads(net.to_json_string()), VERSIONS, changes=changes, **facts(*base[1:]))
    (HERE / "controlnet_defaults.json").write_text(
        json.dumps(json.loads(SD3ControlNetModel.from_config({"num_layers": 1}).to_json_string()) | {"num_layers": 18}, indent=0, sort_keys=True) + "\n")
    large = dict(patch_size=2, in_channels=16, num_layers=19, attention_head_dim=64, num_attention_heads=38, joint_attention_dim=None,
                 caption_projection_dim=2048, pooled_projection_dim=2048, out_channels=16, pos_embed_max_size=None, pos_embed_type=None,
                 use_pos_embed=False, force_zeros_for_pooled_projection=False)
    with torch.device("meta"):
        net = SD3ControlNetModel.from_config(large)
        shared = SD3Transformer2DModel(num_layers=1, num_attention_heads=38, caption_projection_dim=2432, pos_embed_max_size=192)
        net.pos_embed = net._get_pos_embed_from_transformer(shared)
        golden.save_structure(HERE, "sd35_controlnet", net, VERSIONS, torch.zeros(1, 16, 8, 8), torch.zeros(1, 16, 8, 8), 1.0, None,
                              torch.zeros(1, 2048), torch.zeros(1), **large)


main()
