"""Goldens of control networks from diffusers' SanaControlNetModel.   python src/models/sana/golden/make_controlnet.py

Made with torch 2.15.0, diffusers 0.39.0. Writes one file per configuration; controlnet_perturbed.safetensors: one base configuration with one key
changed at a time; controlnet_added.safetensors: the transformer that receives what a network outputs; controlnet_defaults.json; and the structure of a
network for 0.6B. Numbers as in make.py.
"""
import json
import sys
from pathlib import Path

import torch
from diffusers import SanaControlNetModel, SanaTransformer2DModel

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import make  # noqa: E402
from make import VERSIONS, golden  # noqa: E402

SMALL = dict(make.CASES["plain"][0], num_layers=2)
POSITIONS = dict(make.CASES["positions"][0], num_layers=3)
UNUSUAL = make.CASES["unusual"][0]

# name: (config, batch, height, width, timesteps, text rows, rows that count, weight factor)
CASES = {
    "controlnet_plain": (SMALL, 2, 5, 7, [1000.0, 12.5], 6, [6, 2], 1.0),
    "controlnet_positions": (POSITIONS, 1, 12, 4, [437.25], 5, [3], 1.0),
    "controlnet_unusual": (UNUSUAL, 1, 8, 8, [0.0], 3, [3], 1.0),
    "controlnet_faint": (dict(SMALL, num_layers=1), 1, 3, 4, [250.0], 3, [2], 0.03),
}


def inputs(b, h, w, c, timesteps, length, rows):
    text = torch.from_numpy(golden.values("input.text", b, length, c.caption_channels)).double()
    mask = torch.zeros(b, length, dtype=torch.float64)
    for i, n in enumerate(rows):
        mask[i, :n] = 1
    times = torch.tensor(timesteps if len(timesteps) == b else timesteps * b, dtype=torch.float64)
    return dict(encoder_hidden_states=text, timestep=times, encoder_attention_mask=mask)


def run(config, b, h, w, timesteps, length, rows, factor, taps=False):
    net = golden.prepare(SanaControlNetModel.from_config(dict(config)), factor)
    names = {"caption_norm", "input_block"} | {f"transformer_blocks.{i}" for i in range(len(net.transformer_blocks))}
    tap = golden.Taps(net, lambda name: name in names or name == "time_embed") if taps else None
    x, control = (golden.image(name, b, h, w, net.config.in_channels) for name in ("input.x", "input.control"))
    with torch.no_grad():
        y = net(x, controlnet_cond=control, return_dict=False, **inputs(b, h, w, net.config, timesteps, length, rows))[0]
    return net, {f"y.{i}": one.float().numpy() for i, one in enumerate(y)}, tap.arrays if tap else {}


def facts(b, h, w, timesteps, length, rows, factor):
    return dict(batch=b, height=h, width=w, timesteps=timesteps, length=length, rows=rows, factor=factor)


def cases():
    for name, (config, *rest) in CASES.items():
        net, ys, taps = run(config, *rest, taps=True)
        golden.save(HERE, name, {**ys, **taps}, json.loads(net.to_json_string()), VERSIONS, **facts(*rest))


BASE = ({**make.BASE[0], "num_layers": 2}, 1, 4, 6, [321.0], 4, [3], 1.0)
CHANGES = {key: value for key, value in make.CHANGES.items() if key not in ("qk_norm", "timestep_scale", "guidance_embeds_scale")}


def perturbed():
    config, *rest = BASE
    net, ys, _ = run(config, *rest)
    arrays, changes = {"base": ys["y.0"]}, []
    for key, alternatives in CHANGES.items():
        for value in alternatives:
            _, ys, _ = run({**config, key: value}, *rest)
            changes.append({"key": key, "value": value})
            arrays[f"y.{len(changes) - 1}"] = ys["y.0"]
    golden.save(HERE, "controlnet_perturbed", arrays, json.loads(net.to_json_string()), VERSIONS, changes=changes, **facts(*rest))


def added():
    """Three blocks: two lists are added, one as long as the blocks, of which the last is not used."""
    config, b, h, w, timesteps, _, length, rows, factor = make.CASES["plain"]
    net = golden.prepare(SanaTransformer2DModel.from_config(dict(config)), factor)
    x = golden.image("input.x", b, h, w, net.config.in_channels)
    samples = [torch.from_numpy(golden.values(f"input.added.{i}", b, h * w, 24)).double() for i in range(3)]
    with torch.no_grad():
        y = net(x, controlnet_block_samples=tuple(samples), **inputs(b, h, w, net.config, timesteps, length, rows)).sample
    golden.save(HERE, "controlnet_added", {"y": golden.channels_last(y)}, json.loads(net.to_json_string()), VERSIONS,
                **facts(b, h, w, timesteps, length, rows, factor))


def structure():
    config = dict(in_channels=32, out_channels=32, num_attention_heads=36, attention_head_dim=32, num_layers=7, num_cross_attention_heads=16,
                  cross_attention_head_dim=72, cross_attention_dim=1152, caption_channels=2304, mlp_ratio=2.5, sample_size=32, patch_size=1)
    with torch.device("meta"):
        net = SanaControlNetModel.from_config(config)
        x = torch.zeros(1, 32, 4, 6)
        golden.save_structure(HERE, "controlnet_600m", net, VERSIONS, x, torch.zeros(1, 10, 2304), torch.zeros(1), x, 1.0, torch.ones(1, 10), **config)


structure()
(HERE / "controlnet_defaults.json").write_text(
    json.dumps(json.loads(SanaControlNetModel.from_config({"num_layers": 1}).to_json_string()) | {"num_layers": 7}, indent=0, sort_keys=True) + "\n")
cases()
perturbed()
added()
