"""Goldens of FLUX.1's transformer from diffusers' FluxTransformer2DModel.   python src/models/flux1/golden/make.py

Made with torch 2.15.0, diffusers 0.39.0. Writes one file per configuration; perturbed.safetensors: one base configuration with one key
changed at a time; flux1-dev.json: the full-size network.
"""
import json
import sys
from pathlib import Path

import diffusers
import torch
from diffusers import FluxPipeline, FluxTransformer2DModel

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"diffusers {diffusers.__version__}, torch {torch.__version__}"
SMALL = dict(in_channels=8, num_layers=2, num_single_layers=2, attention_head_dim=16, num_attention_heads=3, joint_attention_dim=10,
             pooled_projection_dim=6, axes_dims_rope=[4, 6, 6])

# name: (config, batch, [[height, width] in latent pixels: the image, further images], text tokens, timesteps, guidance scales, factor)
CASES = {
    # guidance, an odd number of tokens, each image with its own timestep and scale
    "dev": (dict(SMALL, guidance_embeds=True, num_single_layers=3), 2, [[6, 10]], 5, [998.4375, 251.5], [3.5, 1.0], 1.0),
    # no guidance, one block of each kind, axes that all differ, one token of text
    "schnell": (dict(SMALL, num_layers=1, num_single_layers=1, attention_head_dim=12, num_attention_heads=2, axes_dims_rope=[2, 4, 6]), 1, [[2, 14]], 1,
                [750.0], [], 1.0),
    # more channels in than out
    "fill": (dict(SMALL, guidance_embeds=True, in_channels=40, out_channels=8, num_layers=1, axes_dims_rope=[8, 2, 6]), 2, [[4, 6]], 3, [31.25], [3.0], 1.0),
    # tokens of two further images of other sizes
    "kontext": (dict(SMALL, guidance_embeds=True), 1, [[6, 4], [4, 10], [2, 2]], 4, [500.0], [2.5], 1.0),
    # weights × 0.03: every norm sees a small variance, so that a wrong eps shows
    "faint": (dict(SMALL, guidance_embeds=True, num_layers=1, num_single_layers=1), 1, [[4, 4]], 2, [90.0], [4.0], 0.03),
}


def positions(sizes):
    ids = []
    for index, (h, w) in enumerate(sizes):
        one = FluxPipeline._prepare_latent_image_ids(1, h // 2, w // 2, "cpu", torch.float64)
        one[..., 0] = index
        ids.append(one)
    return torch.cat(ids)


class Taps:
    """The embeddings, and both streams after each block; single blocks with text and image together."""

    def __init__(self, net):
        self.arrays = {}
        for name, child in net.named_modules():
            if name in ("time_text_embed", "x_embedder", "context_embedder"):
                child.register_forward_hook(lambda _, __, y, name=name: self.add(name, y))
            if name.startswith("transformer_blocks.") and name.count(".") == 1:
                child.register_forward_hook(lambda _, __, y, name=name: self.add(name, y[1]))
                child.register_forward_hook(lambda _, __, y, name=name + ".context": self.add(name, y[0]))
            if name.startswith("single_transformer_blocks.") and name.count(".") == 1:
                child.register_forward_hook(lambda _, __, y, name=name: self.add(name, torch.cat(y, 1)))

    def add(self, name, y):
        flat = y.detach().float().numpy().reshape(-1)
        self.arrays[f"tap.{name}"] = flat[:: -(-flat.size // golden.TAP_VALUES)].copy()


def run(config, batch, sizes, tokens, timesteps, guidance, factor, taps):
    net = golden.prepare(FluxTransformer2DModel(**config), factor)
    tap = Taps(net) if taps else None
    c = net.config
    given = lambda name, *shape: torch.from_numpy(golden.values("input." + name, *shape)).double()  # noqa: E731
    per_image = lambda values: torch.tensor(values, dtype=torch.float64).expand(batch)  # noqa: E731
    ids = positions(sizes)
    with torch.no_grad():
        y = net(hidden_states=given("x", batch, len(ids), c.in_channels), encoder_hidden_states=given("text", batch, tokens, c.joint_attention_dim),
                pooled_projections=given("pooled", batch, c.pooled_projection_dim), timestep=per_image(timesteps) / 1000, img_ids=ids,
                txt_ids=torch.zeros(tokens, 3, dtype=torch.float64), guidance=per_image(guidance) if c.guidance_embeds else None).sample
    rows = sizes[0][0] // 2 * (sizes[0][1] // 2)
    return net, y[:, :rows].float().numpy(), tap.arrays if tap else {}


def facts(batch, sizes, tokens, timesteps, guidance, factor):
    return dict(batch=batch, sizes=sizes, tokens=tokens, timesteps=timesteps, guidance=guidance, factor=factor)


def cases():
    for name, (config, *rest) in CASES.items():
        net, y, taps = run(config, *rest, True)
        golden.save(HERE, name, {"y": y, **taps}, json.loads(net.to_json_string()), VERSIONS, **facts(*rest))


# Packing, which the pipelines do: latents and their tokens.
def packing():
    latents = golden.image("input.latents", 2, 4, 6, 5)
    tokens = FluxPipeline._pack_latents(latents, 2, 5, 4, 6)
    back = FluxPipeline._unpack_latents(tokens, 32, 48, 8)
    assert golden.same(back, latents)
    golden.save(HERE, "packing", {"tokens": tokens.float().numpy()}, {}, VERSIONS)


BASE = (dict(SMALL, num_layers=1, num_single_layers=1), 1, [[4, 6]], 3, [321.0], [3.5], 1.0)
CHANGES = {
    "in_channels": [12],
    "out_channels": [4, None],
    "num_layers": [2],
    "num_single_layers": [2],
    "num_attention_heads": [1],
    "attention_head_dim": [],  # with the axes, in the cases
    "joint_attention_dim": [7],
    "pooled_projection_dim": [9],
    "guidance_embeds": [True],
    "axes_dims_rope": [[2, 2, 12], [6, 4, 6]],
}


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


# The published transformer/config.json of FLUX.1 dev.
DEV = dict(_class_name="FluxTransformer2DModel", _diffusers_version="0.30.0.dev0", attention_head_dim=128, guidance_embeds=True, in_channels=64,
           joint_attention_dim=4096, num_attention_heads=24, num_layers=19, num_single_layers=38, patch_size=1, pooled_projection_dim=768)


def structure():
    with torch.device("meta"):
        net = FluxTransformer2DModel.from_config(DEV)
        golden.save_structure(HERE, "flux1-dev", net, VERSIONS, torch.zeros(1, 16, 64), torch.zeros(1, 8, 4096), torch.zeros(1, 768), torch.zeros(1),
                              torch.zeros(16, 3), torch.zeros(8, 3), torch.zeros(1), **DEV)


structure()
packing()
golden.save_defaults(HERE, json.loads(FluxTransformer2DModel.from_config({"num_layers": 1, "num_single_layers": 1}).to_json_string())
                     | {"num_layers": 19, "num_single_layers": 38})
cases()
perturbed()
