"""Goldens of ControlNets from diffusers' QwenImageControlNetModel.   python src/models/qwen_image/golden/make_controlnet.py

Made with torch 2.15.0, diffusers 0.39.0. Writes one file per configuration; controlnet_perturbed.safetensors: one base configuration with one key
changed at a time; controlnet_defaults.json; and controlnet_added.safetensors: the transformer with what three lists of control tensors add.
"""
import json
import sys
from pathlib import Path

import diffusers
import torch
from diffusers import QwenImageControlNetModel, QwenImageTransformer2DModel

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"diffusers {diffusers.__version__}, torch {torch.__version__}"
SMALL = dict(in_channels=8, out_channels=2, num_layers=2, attention_head_dim=16, num_attention_heads=3, joint_attention_dim=10,
             axes_dims_rope=[4, 6, 6])

# name: (config, batch, [rows, columns] of tokens, control images, text tokens, timesteps, factor)
CASES = {
    "controlnet_union": (dict(SMALL, num_layers=3), 2, [3, 5], 1, 5, [998.4375, 251.5], 1.0),
    "controlnet_fill": (dict(SMALL, extra_condition_channels=4), 2, [2, 7], 2, 3, [750.0], 1.0),
    "controlnet_faint": (dict(SMALL, num_layers=1), 1, [2, 2], 1, 2, [90.0], 0.03),
}


class Taps:
    """The embeddings, and both streams after each block."""

    def __init__(self, net):
        self.arrays = {}
        for name, child in net.named_modules():
            if name in ("img_in", "txt_in", "time_text_embed", "controlnet_x_embedder"):
                child.register_forward_hook(lambda _, __, y, name=name: self.add(name, y))
            if name.startswith("transformer_blocks.") and name.count(".") == 1:
                child.register_forward_hook(lambda _, __, y, name=name: self.add(name, y[1]))
                child.register_forward_hook(lambda _, __, y, name=name + ".context": self.add(name, y[0]))

    def add(self, name, y):
        flat = y.detach().float().numpy().reshape(-1)
        self.arrays[f"tap.{name}"] = flat[:: -(-flat.size // golden.TAP_VALUES)].copy()


def given(name, *shape):
    return torch.from_numpy(golden.values("input." + name, *shape)).double()


def packed(latents):
    n, c, h, w = latents.shape
    return latents.view(n, c, h // 2, 2, w // 2, 2).permute(0, 2, 4, 1, 3, 5).reshape(n, h // 2 * (w // 2), 4 * c)


def run(config, batch, size, images, tokens, timesteps, factor, taps):
    net = golden.prepare(QwenImageControlNetModel(**config), factor)
    tap = Taps(net) if taps else None
    c, (h, w) = net.config, size
    control = packed(golden.image("input.control", images, 2 * h, 2 * w, (c.in_channels + c.extra_condition_channels) // 4))
    if images == 1:
        control = control.repeat(batch, 1, 1)
    with torch.no_grad():
        ys = net(hidden_states=given("x", batch, h * w, c.in_channels), controlnet_cond=control,
                 encoder_hidden_states=given("text", batch, tokens, c.joint_attention_dim),
                 timestep=torch.tensor(timesteps, dtype=torch.float64).expand(batch) / 1000, img_shapes=[[(1, h, w)]] * batch, return_dict=False)
    if taps and images == 1:  # hearth sees one image once
        flat = net.controlnet_x_embedder(control[:1]).detach().float().numpy().reshape(-1)
        tap.arrays["tap.controlnet_x_embedder"] = flat[:: -(-flat.size // golden.TAP_VALUES)].copy()
    return net, {f"y.{i}": y.float().numpy() for i, y in enumerate(ys)}, tap.arrays if tap else {}


def facts(batch, size, images, tokens, timesteps, factor):
    return dict(batch=batch, size=size, images=images, tokens=tokens, timesteps=timesteps, factor=factor)


CHANGES = {"in_channels": [12], "num_layers": [2], "num_attention_heads": [1], "joint_attention_dim": [7], "axes_dims_rope": [[2, 2, 12], [6, 8, 2]],
           "extra_condition_channels": [4], "out_channels": [4, None], "patch_size": [3]}


def added():
    """k tensors of a control network are added after the transformer's blocks: as many, fewer, and more than blocks."""
    net = golden.prepare(QwenImageTransformer2DModel(**dict(SMALL, num_layers=5)))
    arrays = {}
    for k in (1, 2, 3, 5, 7):
        samples = [given(f"added.{i}", 2, 6, 48) for i in range(k)]
        with torch.no_grad():
            arrays[f"y.{k}"] = net(hidden_states=given("x", 2, 6, 8), encoder_hidden_states=given("text", 2, 4, 10),
                                   timestep=torch.tensor([500.0, 20.0], dtype=torch.float64) / 1000, img_shapes=[[(1, 2, 3)]] * 2,
                                   controlnet_block_samples=samples).sample.float().numpy()
    golden.save(HERE, "controlnet_added", arrays, json.loads(net.to_json_string()), VERSIONS, batch=2, sizes=[[2, 3]], tokens=4, timesteps=[500.0, 20.0],
                factor=1.0)


def main():
    for name, (config, *rest) in CASES.items():
        net, ys, taps = run(config, *rest, True)
        golden.save(HERE, name, {**ys, **taps}, json.loads(net.to_json_string()), VERSIONS, **facts(*rest))
    base = (dict(SMALL, num_layers=1), 1, [2, 3], 1, 3, [321.0], 1.0)
    net, ys, _ = run(*base, False)
    arrays, changes = {"base": ys["y.0"]}, []
    for key, alternatives in CHANGES.items():
        for value in alternatives:
            _, y, _ = run({**base[0], key: value}, *base[1:], False)
            last = y[f"y.{len(y) - 1}"]
            changes.append({"key": key, "value": value, "same": golden.same(torch.from_numpy(last), torch.from_numpy(ys["y.0"]))})
            arrays[f"y.{len(changes) - 1}"] = last
            print("  same" if changes[-1]["same"] else "  other", key, value)
    golden.save(HERE, "controlnet_perturbed", arrays, json.loads(net.to_json_string()), VERSIONS, changes=changes, **facts(*base[1:]))
    added()
    defaults = QwenImageControlNetModel.from_config({"num_layers": 1, "num_attention_heads": 1})
    (HERE / "controlnet_defaults.json").write_text(
        json.dumps(json.loads(defaults.to_json_string()) | {"num_layers": 60, "num_attention_heads": 24}, indent=0, sort_keys=True) + "\n")


main()
