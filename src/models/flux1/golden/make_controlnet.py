"""Goldens of ControlNets from diffusers' FluxControlNetModel.   python src/models/flux1/golden/make_controlnet.py

Made with torch 2.15.0, diffusers 0.39.0. Writes one file per configuration; controlnet_perturbed.safetensors: one base configuration with one key
changed at a time; and controlnet_defaults.json.
"""
import json
import sys
from pathlib import Path

import diffusers
import torch
from diffusers import FluxControlNetModel, FluxPipeline

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"diffusers {diffusers.__version__}, torch {torch.__version__}"
SMALL = dict(in_channels=16, num_layers=2, num_single_layers=1, attention_head_dim=16, num_attention_heads=2, joint_attention_dim=10,
             pooled_projection_dim=6, axes_dims_rope=[4, 6, 6])

# name: (config, batch, [height, width] in latent pixels, text tokens, timesteps, guidance scales, mode, factor)
CASES = {
    "controlnet_latents": (dict(SMALL, guidance_embeds=True, num_single_layers=2), 2, [6, 10], 5, [998.4375, 251.5], [3.5, 1.0], None, 1.0),
    "controlnet_union": (dict(SMALL, num_mode=5, num_single_layers=0), 2, [4, 6], 3, [750.0], [], 3, 1.0),
    "controlnet_single": (dict(SMALL, num_mode=2, num_layers=0, num_single_layers=2), 1, [2, 4], 1, [20.0], [], 1, 1.0),
    "controlnet_pixels": (dict(SMALL, patch_size=2, conditioning_embedding_channels=4, num_single_layers=0, guidance_embeds=True), 1, [4, 6], 2, [500.0],
                          [4.0], None, 1.0),
}


class Taps:
    def __init__(self, net):
        self.arrays = {}
        for name, child in net.named_modules():
            if name in ("time_text_embed", "x_embedder", "context_embedder", "controlnet_x_embedder"):
                child.register_forward_hook(lambda _, __, y, name=name: self.add(name, y))
            if name.startswith("transformer_blocks.") and name.count(".") == 1:
                child.register_forward_hook(lambda _, __, y, name=name: self.add(name, y[1]))
                child.register_forward_hook(lambda _, __, y, name=name + ".context": self.add(name, y[0]))
            if name.startswith("single_transformer_blocks.") and name.count(".") == 1:
                child.register_forward_hook(lambda _, __, y, name=name: self.add(name, torch.cat(y, 1)))

    def add(self, name, y):
        flat = y.detach().float().numpy().reshape(-1)
        self.arrays[f"tap.{name}"] = flat[:: -(-flat.size // golden.TAP_VALUES)].copy()


def run(config, batch, size, tokens, timesteps, guidance, mode, factor, taps):
    net = golden.prepare(FluxControlNetModel(**config), factor)
    tap = Taps(net) if taps else None
    c, (h, w) = net.config, size
    given = lambda name, *shape: torch.from_numpy(golden.values("input." + name, *shape)).double()  # noqa: E731
    per_image = lambda values: torch.tensor(values, dtype=torch.float64).expand(batch)  # noqa: E731
    ids = FluxPipeline._prepare_latent_image_ids(1, h // 2, w // 2, "cpu", torch.float64)
    if c.conditioning_embedding_channels:
        control = golden.image("input.control", 1, 8 * h, 8 * w, 3)
    else:
        latents = golden.image("input.control", batch, h, w, c.in_channels // 4)
        control = FluxPipeline._pack_latents(latents, batch, c.in_channels // 4, h, w)
    modes = None if mode is None else torch.full([batch, 1], mode, dtype=torch.long)
    with torch.no_grad():
        double, single = net(hidden_states=given("x", batch, len(ids), c.in_channels), controlnet_cond=control, controlnet_mode=modes,
                             encoder_hidden_states=given("text", batch, tokens, c.joint_attention_dim),
                             pooled_projections=given("pooled", batch, c.pooled_projection_dim), timestep=per_image(timesteps) / 1000, img_ids=ids,
                             txt_ids=torch.zeros(tokens, 3, dtype=torch.float64), guidance=per_image(guidance) if c.guidance_embeds else None,
                             return_dict=False)
    ys = {f"double.{i}": y.float().numpy() for i, y in enumerate(double or [])} | {f"single.{i}": y.float().numpy() for i, y in enumerate(single or [])}
    return net, ys, tap.arrays if tap else {}


def facts(batch, size, tokens, timesteps, guidance, mode, factor):
    return dict(batch=batch, height=size[0], width=size[1], tokens=tokens, timesteps=timesteps, guidance=guidance, mode=mode or 0, factor=factor)


CHANGES = {"in_channels": [12], "num_layers": [1], "num_single_layers": [2], "num_attention_heads": [1], "joint_attention_dim": [7],
           "pooled_projection_dim": [9], "guidance_embeds": [True], "axes_dims_rope": [[2, 2, 12]], "num_mode": [4], "patch_size": [3]}


def main():
    for name, (config, *rest) in CASES.items():
        net, ys, taps = run(config, *rest, True)
        golden.save(HERE, name, {**ys, **taps}, json.loads(net.to_json_string()), VERSIONS, **facts(*rest))
    base = (SMALL, 1, [4, 6], 3, [321.0], [3.5], 2, 1.0)
    net, ys, _ = run(*base, False)
    arrays, changes = {"base": ys["single.0"]}, []
    for key, alternatives in CHANGES.items():
        for value in alternatives:
            _, y, _ = run({**base[0], key: value}, *base[1:], False)
            changes.append({"key": key, "value": value})
            arrays[f"y.{len(changes) - 1}"] = y["single.0"]
    golden.save(HERE, "controlnet_perturbed", arrays, json.loads(net.to_json_string()), VERSIONS, changes=changes, **facts(*base[1:]))
    (HERE / "controlnet_defaults.json").write_text(
        json.dumps(json.loads(FluxControlNetModel.from_config({"num_layers": 1, "num_single_layers": 1}).to_json_string())
                   | {"num_layers": 19, "num_single_layers": 38}, indent=0, sort_keys=True) + "\n")


main()
