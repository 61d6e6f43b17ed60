"""Goldens of FLUX.2's transformer from diffusers' Flux2Transformer2DModel.   python src/models/flux2/golden/make.py

Made with torch 2.15.0, diffusers 0.39.0. Writes one file per configuration; perturbed.safetensors: one base configuration with one key
changed at a time; flux2-dev.json and flux2-klein-4b.json: full-size networks.
"""
import json
import sys
from pathlib import Path

import diffusers
import torch
from diffusers import Flux2KleinPipeline, Flux2Transformer2DModel

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"diffusers {diffusers.__version__}, torch {torch.__version__}"
SMALL = dict(in_channels=8, num_layers=2, num_single_layers=2, attention_head_dim=16, num_attention_heads=3, joint_attention_dim=10,
             axes_dims_rope=[4, 4, 6, 2])

# name: (config, batch, [[height, width] in tokens: the image, reference images], text tokens, timesteps, guidance scales, factor)
CASES = {
    # guidance, an odd number of tokens, each image with its own timestep and scale
    "dev": (dict(SMALL, num_single_layers=3), 2, [[3, 5]], 5, [998.4375, 251.5], [4.0, 1.0], 1.0),
    # no guidance, one block of each kind, other axes, another MLP, one token of text
    "klein": (dict(SMALL, guidance_embeds=False, num_layers=1, num_single_layers=1, attention_head_dim=12, num_attention_heads=2, mlp_ratio=2.5,
                   axes_dims_rope=[2, 4, 2, 4]), 1, [[1, 7]], 1, [750.0], [], 1.0),
    # tokens of two reference images of other sizes
    "references": (SMALL, 1, [[3, 2], [2, 5], [1, 1]], 4, [500.0], [2.5], 1.0),
    # weights × 0.03: every norm sees a small variance, so that a wrong eps shows
    "faint": (dict(SMALL, num_layers=1, num_single_layers=1), 1, [[2, 2]], 2, [90.0], [4.0], 0.03),
}


def positions(sizes):
    ids = [Flux2KleinPipeline._prepare_latent_ids(torch.zeros(1, 1, *sizes[0]))[0]]
    if len(sizes) > 1:
        ids.append(Flux2KleinPipeline._prepare_image_ids([torch.zeros(1, 1, *size) for size in sizes[1:]])[0])
    return torch.cat(ids)


class Taps:
    """The embeddings, and both streams after each block; single blocks with text and image together."""

    def __init__(self, net):
        self.arrays = {}
        for name, child in net.named_modules():
            if name in ("time_guidance_embed", "x_embedder", "context_embedder"):
                child.register_forward_hook(lambda _, __, y, name=name: self.add(name, y))
            if name.startswith("transformer_blocks.") and name.count(".") == 1:
                child.register_forward_hook(lambda _, __, y, name=name: self.add(name, y[1]))
                child.register_forward_hook(lambda _, __, y, name=name + ".context": self.add(name, y[0]))
            if name.startswith("single_transformer_blocks.") and name.count(".") == 1:
                child.register_forward_hook(lambda _, __, y, name=name: self.add(name, y))

    def add(self, name, y):
        flat = y.detach().float().numpy().reshape(-1)
        self.arrays[f"tap.{name}"] = flat[:: -(-flat.size // golden.TAP_VALUES)].copy()


def run(config, batch, sizes, tokens, timesteps, guidance, factor, taps):
    net = golden.prepare(Flux2Transformer2DModel(**config), factor)
    tap = Taps(net) if taps else None
    c = net.config
    given = lambda name, *shape: torch.from_numpy(golden.values("input." + name, *shape)).double()  # noqa: E731
    per_image = lambda values: torch.tensor(values, dtype=torch.float64).expand(batch)  # noqa: E731
    ids = positions(sizes)
    with torch.no_grad():
        y = net(hidden_states=given("x", batch, len(ids), c.in_channels), encoder_hidden_states=given("text", batch, tokens, c.joint_attention_dim),
                timestep=per_image(timesteps) / 1000, img_ids=ids, txt_ids=Flux2KleinPipeline._prepare_text_ids(torch.zeros(1, tokens, 1))[0],
                guidance=per_image(guidance) if c.guidance_embeds else None).sample
    rows = sizes[0][0] * sizes[0][1]
    return net, y[:, :rows].float().numpy(), tap.arrays if tap else {}


def facts(batch, sizes, tokens, timesteps, guidance, factor):
    return dict(batch=batch, sizes=sizes, tokens=tokens, timesteps=timesteps, guidance=guidance, factor=factor)


def cases():
    for name, (config, *rest) in CASES.items():
        net, y, taps = run(config, *rest, True)
        golden.save(HERE, name, {"y": y, **taps}, json.loads(net.to_json_string()), VERSIONS, **facts(*rest))


BASE = (dict(SMALL, num_layers=1, num_single_layers=1), 1, [[2, 3]], 3, [321.0], [3.5], 1.0)
CHANGES = {"in_channels": [12], "out_channels": [4, None], "num_layers": [2], "num_single_layers": [2], "num_attention_heads": [1], "joint_attention_dim": [7],
           "timestep_guidance_channels": [32], "mlp_ratio": [2.0], "axes_dims_rope": [[2, 2, 10, 2], [6, 4, 4, 2]], "rope_theta": [100], "eps": [0.01],
           "guidance_embeds": [False]}


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


DEV = dict(_class_name="Flux2Transformer2DModel", attention_head_dim=128, axes_dims_rope=[32, 32, 32, 32], eps=1e-6, in_channels=128,
           joint_attention_dim=15360, mlp_ratio=3.0, num_attention_heads=48, num_layers=8, num_single_layers=48, out_channels=None, patch_size=1,
           rope_theta=2000, timestep_guidance_channels=256)
KLEIN = dict(DEV, joint_attention_dim=7680, num_attention_heads=24, num_layers=5, num_single_layers=20, guidance_embeds=False)


def structures():
    for name, config in (("flux2-dev", DEV), ("flux2-klein-4b", KLEIN)):
        with torch.device("meta"):
            net = Flux2Transformer2DModel.from_config(config)
            text = torch.zeros(1, 8, config["joint_attention_dim"])
            golden.save_structure(HERE, name, net, VERSIONS, torch.zeros(1, 16, 128), text, torch.zeros(1), torch.zeros(16, 4), torch.zeros(8, 4),
                                  torch.zeros(1) if config.get("guidance_embeds", True) else None, **config)


structures()
golden.save_defaults(HERE, json.loads(Flux2Transformer2DModel.from_config({"num_layers": 1, "num_single_layers": 1, "num_attention_heads": 1}).to_json_string())
                     | {"num_layers": 8, "num_single_layers": 48, "num_attention_heads": 48})
cases()
perturbed()
