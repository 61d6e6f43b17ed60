"""Goldens of control networks from diffusers' ZImageControlNetModel.   python src/models/z_image/golden/make_controlnet.py

Made with torch 2.15.0, diffusers 0.39.0. Writes one file per configuration; controlnet_perturbed.safetensors: one base configuration with one key
changed at a time; controlnet_added.safetensors: the transformer that receives what a network outputs; and the structure of the published networks,
whose configurations are those that diffusers' loader of single files takes. Numbers as in make.py.
"""
import json
import sys
from pathlib import Path

import torch
from diffusers import ZImageControlNetModel, ZImageTransformer2DModel
from diffusers.models.controlnets import controlnet_z_image

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import make  # noqa: E402
from make import VERSIONS, golden  # noqa: E402

controlnet_z_image.ZSingleStreamAttnProcessor.__call__ = make.exact_rotation
MODEL = dict(make.SMALL, n_layers=4, n_refiner_layers=2)
OWN = dict(dim=24, n_heads=2, n_kv_heads=2)
V1 = dict(OWN, control_layers_places=[0, 2], control_refiner_layers_places=[], control_in_dim=4, n_refiner_layers=1)
V20 = dict(OWN, control_layers_places=[0, 1, 2, 3], control_refiner_layers_places=[0, 1], control_in_dim=9, add_control_noise_refiner="control_layers")
V21 = dict(OWN, control_layers_places=[0, 2], control_refiner_layers_places=[0, 1], control_in_dim=9, add_control_noise_refiner="control_noise_refiner")

# name: (config, [height, width] in latent pixels, text tokens, times, scale, factor)
CASES = {
    "controlnet_v1": (V1, [6, 10], [5, 5], [0.0015625, 0.75], 1.0, 1.0),
    "controlnet_v20": (V20, [4, 14], [7], [0.5], 0.6, 1.0),
    "controlnet_v21": (V21, [8, 16], [32], [0.25], 0.8, 1.0),
    "controlnet_faint": (dict(V21, control_refiner_layers_places=[1]), [4, 6], [2], [0.1], 1.0, 0.03),
}


class Taps(golden.Taps):
    def __init__(self, net):
        blocks = ("noise_refiner.", "context_refiner.", "control_noise_refiner.", "control_layers.")
        super().__init__(net, lambda name: False)
        for name, child in net.named_modules():
            if name.startswith(blocks) and name.count(".") == 1:
                child.register_forward_hook(lambda _, __, y, name=name: self.add(name, (y[-1] if y.dim() == 4 else y).detach().float().numpy()))


def run(config, size, lengths, times, scale, factor, taps=False, model=MODEL):
    net = ZImageControlNetModel.from_transformer(ZImageControlNetModel(**config), ZImageTransformer2DModel(**model))
    net = make.in_double(golden.prepare(net, factor))
    tap = Taps(net) if taps else None
    n, (h, w) = len(lengths), size
    x = golden.image("input.x", n, h, w, model["in_channels"])
    seen = golden.image("input.control", n, h, w, config["control_in_dim"])
    text = torch.from_numpy(golden.values("input.text", n, max(lengths), model["cap_feat_dim"])).double()
    with torch.no_grad():
        y = net([image.unsqueeze(1) for image in x], torch.tensor(times, dtype=torch.float64), [text[i, :k] for i, k in enumerate(lengths)],
                [image.unsqueeze(1) for image in seen], conditioning_scale=scale)
    return net, {f"y.{layer}": value.float().numpy() for layer, value in y.items()}, tap.arrays if tap else {}


def facts(size, lengths, times, scale, factor, model=MODEL):
    return dict(size=size, lengths=lengths, times=times, scale=scale, factor=factor, model=json.loads(ZImageTransformer2DModel(**model).to_json_string()))


def cases():
    for name, (config, *rest) in CASES.items():
        net, ys, taps = run(config, *rest, taps=True)
        golden.save(HERE, name, {**ys, **taps}, json.loads(net.to_json_string()), VERSIONS, **facts(*rest))


BASE = (dict(V21), [4, 6], [3], [0.3], 0.7, 1.0)
CHANGES = {"control_layers_places": [[0, 1, 3]], "control_refiner_layers_places": [[1], []], "control_in_dim": [4],
           "add_control_noise_refiner": [None, "control_layers"], "n_refiner_layers": [3], "norm_eps": [0.1], "qk_norm": [False]}


def perturbed():
    config, *rest = BASE
    net, ys, _ = run(config, *rest)
    arrays, changes = {"base": ys["y.0"]}, []
    for key, alternatives in CHANGES.items():
        for value in alternatives:
            _, ys, _ = run({**config, key: value}, *rest)
            changes.append({"key": key, "value": value})
            arrays[f"y.{len(changes) - 1}"] = ys[max(ys)]
    golden.save(HERE, "controlnet_perturbed", arrays, json.loads(net.to_json_string()), VERSIONS, changes=changes, **facts(*rest))


def added():
    size, lengths, times = [6, 10], [5, 5], [0.0015625, 0.75]
    net = make.in_double(golden.prepare(ZImageTransformer2DModel(**MODEL), 1.0))
    x = golden.image("input.x", 2, *size, MODEL["in_channels"])
    text = torch.from_numpy(golden.values("input.text", 2, 5, MODEL["cap_feat_dim"])).double()
    samples = {layer: torch.from_numpy(golden.values(f"input.added.{layer}", 2, 64, 24)).double() for layer in (1, 3)}
    with torch.no_grad():
        y = net([image.unsqueeze(1) for image in x], torch.tensor(times, dtype=torch.float64), list(text), controlnet_block_samples=samples).sample
    y = torch.stack([image.squeeze(1) for image in y]).permute(0, 2, 3, 1).contiguous()
    golden.save(HERE, "controlnet_added", {"y": y.float().numpy()}, json.loads(net.to_json_string()), VERSIONS, **facts(size, lengths, times, 1.0, 1.0))


def structures():
    """The networks' own tensors: those of the transformer, which they share, are in z-image.json."""
    for name, config in {
        "controlnet_v1_full": dict(control_layers_places=list(range(0, 30, 5)), control_refiner_layers_places=[], control_in_dim=16),
        "controlnet_v20_full": dict(control_layers_places=list(range(0, 30, 2)), control_refiner_layers_places=[0, 1], control_in_dim=33,
                                    add_control_noise_refiner="control_layers"),
        "controlnet_v21_full": dict(control_layers_places=list(range(0, 30, 2)), control_refiner_layers_places=[0, 1], control_in_dim=33,
                                    add_control_noise_refiner="control_noise_refiner"),
    }.items():
        with torch.device("meta"):
            net = ZImageControlNetModel.from_transformer(ZImageControlNetModel(**config), ZImageTransformer2DModel.from_config(make.FULL))
        net.rope_embedder = lambda ids: torch.zeros(len(ids), 64, dtype=torch.complex64, device="meta")
        with torch.device("meta"):
            golden.save_structure(HERE, name, net, VERSIONS, [torch.zeros(16, 1, 16, 16)], torch.zeros(1), [torch.zeros(32, 2560)],
                                  [torch.zeros(config["control_in_dim"], 1, 16, 16)], **json.loads(net.to_json_string()))


structures()
cases()
perturbed()
added()
