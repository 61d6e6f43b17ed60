"""Goldens of Qwen-Image's transformer from diffusers' QwenImageTransformer2DModel.   python src/models/qwen_image/golden/make.py

Made with torch 2.15.0, diffusers 0.39.0. Writes one file per configuration; perturbed.safetensors: one base configuration with one key
changed at a time; qwen-image.json: the full-size network.
"""
import json
import sys
from pathlib import Path

import diffusers
import torch
from diffusers import QwenImageTransformer2DModel

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"diffusers {diffusers.__version__}, torch {torch.__version__}"
SMALL = dict(in_channels=8, out_channels=2, num_layers=2, attention_head_dim=16, num_attention_heads=3, joint_attention_dim=10,
             axes_dims_rope=[4, 6, 6])

# name: (config, batch, [[rows, columns] of tokens: the image, reference images], text tokens, timesteps, factor)
CASES = {
    # odd sides, each image with its own timestep
    "plain": (dict(SMALL, num_layers=3), 2, [[3, 5]], 5, [998.4375, 251.5], 1.0),
    # other axes, as many channels out of each pixel as into a token, one token of text
    "other": (dict(SMALL, out_channels=None, num_layers=1, attention_head_dim=12, num_attention_heads=2, axes_dims_rope=[2, 4, 6]), 1, [[1, 7]], 1, [750.0],
              1.0),
    # tokens of two reference images of other sizes, of which one is the largest
    "references": (SMALL, 2, [[3, 2], [2, 9], [1, 1]], 4, [500.0, 20.0], 1.0),
    # the same with their modulation at timestep 0
    "zero": (dict(SMALL, zero_cond_t=True), 2, [[3, 2], [2, 9], [1, 1]], 4, [500.0, 20.0], 1.0),
    "zero_alone": (dict(SMALL, zero_cond_t=True, num_layers=1), 1, [[2, 3]], 2, [500.0], 1.0),
    # weights × 0.03: every norm sees a small variance, so that a wrong eps shows
    "faint": (dict(SMALL, num_layers=1), 1, [[2, 2]], 2, [90.0], 0.03),
}


class Taps:
    """The embeddings, and both streams after each block."""

    def __init__(self, net):
        self.arrays = {}
        for name, child in net.named_modules():
            if name in ("img_in", "txt_in") or name == "time_text_embed" and not net.config.zero_cond_t:
                child.register_forward_hook(lambda _, __, y, name=name: self.add(name, y))
            if name.startswith("transformer_blocks.") and name.count(".") == 1:
                child.register_forward_hook(lambda _, __, y, name=name: self.add(name, y[1]))
                child.register_forward_hook(lambda _, __, y, name=name + ".context": self.add(name, y[0]))

    def add(self, name, y):
        flat = y.detach().float().numpy().reshape(-1)
        self.arrays[f"tap.{name}"] = flat[:: -(-flat.size // golden.TAP_VALUES)].copy()


def run(config, batch, sizes, tokens, timesteps, factor, taps):
    net = golden.prepare(QwenImageTransformer2DModel(**config), factor)
    tap = Taps(net) if taps else None
    c = net.config
    given = lambda name, *shape: torch.from_numpy(golden.values("input." + name, *shape)).double()  # noqa: E731
    with torch.no_grad():
        y = net(hidden_states=given("x", batch, sum(h * w for h, w in sizes), c.in_channels),
                encoder_hidden_states=given("text", batch, tokens, c.joint_attention_dim),
                timestep=torch.tensor(timesteps, dtype=torch.float64).expand(batch) / 1000,
                img_shapes=[[(1, h, w) for h, w in sizes]] * batch).sample
    rows = sizes[0][0] * sizes[0][1]
    return net, y[:, :rows].float().numpy(), tap.arrays if tap else {}


def facts(batch, sizes, tokens, timesteps, factor):
    return dict(batch=batch, sizes=sizes, tokens=tokens, timesteps=timesteps, factor=factor)


def cases():
    for name, (config, *rest) in CASES.items():
        net, y, taps = run(config, *rest, True)
        golden.save(HERE, name, {"y": y, **taps}, json.loads(net.to_json_string()), VERSIONS, **facts(*rest))


BASE = (dict(SMALL, num_layers=1), 1, [[2, 3], [1, 2]], 3, [321.0], 1.0)
CHANGES = {"in_channels": [12], "out_channels": [4, None], "num_layers": [2], "num_attention_heads": [1], "joint_attention_dim": [7],
           "axes_dims_rope": [[2, 2, 12], [6, 8, 2]], "zero_cond_t": [True]}


def perturbed():
    config, *rest = BASE
    net, base, _ = run(config, *rest, False)
    arrays, changes = {"base": base}, []
    for key, alternatives in CHANGES.items():
        for value in alternatives:
            _, y, _ = run({**config, key: value}, *rest, False)
            changes.append({"key": key, "value": value, "same": golden.same(torch.from_numpy(y), torch.from_numpy(base))})
            arrays[f"y.{len(changes) - 1}"] = y
            print("  same" if changes[-1]["same"] else "  other", key, value)
    golden.save(HERE, "perturbed", arrays, json.loads(net.to_json_string()), VERSIONS, changes=changes, **facts(*rest))


FULL = dict(_class_name="QwenImageTransformer2DModel", attention_head_dim=128, axes_dims_rope=[16, 56, 56], guidance_embeds=False, in_channels=64,
            joint_attention_dim=3584, num_attention_heads=24, num_layers=60, out_channels=16, patch_size=2)


def structure():
    with torch.device("meta"):
        net = QwenImageTransformer2DModel.from_config(FULL)

        def rope(shapes, max_txt_seq_len, device):
            return tuple(torch.zeros(length, 64, dtype=torch.complex64, device="meta") for length in (16, max_txt_seq_len))

        net.pos_embed.forward = rope
        golden.save_structure(HERE, "qwen-image", net, VERSIONS, torch.zeros(1, 16, 64), torch.zeros(1, 8, 3584), None, torch.zeros(1), [[(1, 4, 4)]], **FULL)


structure()
golden.save_defaults(HERE, json.loads(QwenImageTransformer2DModel.from_config({"num_layers": 1, "num_attention_heads": 1}).to_json_string())
                     | {"num_layers": 60, "num_attention_heads": 24})
cases()
perturbed()
