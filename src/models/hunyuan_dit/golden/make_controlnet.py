"""Goldens of ControlNets from diffusers' HunyuanDiT2DControlNetModel.   python src/models/hunyuan_dit/golden/make_controlnet.py

Made with torch 2.15.0, diffusers 0.39.0. Writes one file per configuration; controlnet_perturbed.safetensors: one base configuration with one key
changed at a time; controlnet_added.safetensors: the transformer that receives what a network outputs; and the structure of the published networks.
Numbers as in make.py.
"""
import json
import sys
from pathlib import Path

import numpy as np
import torch
from diffusers import HunyuanDiT2DControlNetModel, HunyuanDiT2DModel

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import make  # noqa: E402
from make import VERSIONS, golden  # noqa: E402

V11 = dict(make.CASES["v11"][0], transformer_num_layers=6)
V12 = dict(make.CASES["v12"][0], transformer_num_layers=8)
for shared in (V11, V12):
    shared.pop("num_layers")

# name: (config, batch, height, width, timesteps, lengths of the text, of T5's, sizes, weight factor)
CASES = {
    "controlnet_v11": (V11, 2, 6, 10, [999.0, 21.5], [5, 2], [3, 7], [1024, 1024, 768, 1280, 0, 16], 1.0),
    "controlnet_v12": (V12, 1, 14, 4, [437.25], [1], [2], [], 1.0),
    "controlnet_faint": (dict(V12, transformer_num_layers=4), 1, 4, 6, [250.0], [2], [1], [], 0.03),
}


class Taps(golden.Taps):
    def __init__(self, net):
        super().__init__(net, lambda name: name in ("input_block", "time_extra_emb", "time_extra_emb.pooler")
                         or name.startswith("blocks.") and name.count(".") == 1)
        net.text_embedder.register_forward_hook(lambda _, __, y: self.add("text_embedder", y.detach().float().numpy()))


def called(net, b, h, w, timesteps, lengths, lengths_t5, sizes, factor, **more):
    c = net.config
    x = golden.image("input.x", b, h, w, c.in_channels)
    text = torch.from_numpy(golden.values("input.text", b, c.text_len, c.cross_attention_dim)).double()
    t5 = torch.from_numpy(golden.values("input.t5", b, c.text_len_t5, c.cross_attention_dim_t5)).double()
    masks = [torch.tensor([[int(t < n) for t in range(rows)] for n in ns]) for ns, rows in ((lengths, c.text_len), (lengths_t5, c.text_len_t5))]
    times = torch.tensor(timesteps if len(timesteps) == b else timesteps * b, dtype=torch.float64)
    rotary = tuple(y.double() for y in make.rotations(net, h // c.patch_size, w // c.patch_size))
    meta = torch.tensor([sizes] * b, dtype=torch.float64) if sizes else None
    kept, to = torch.Tensor.float, torch.Tensor.to
    torch.Tensor.float = lambda y: y
    torch.Tensor.to = lambda y, *args, **kwargs: y if y.dtype == torch.float64 and args == (torch.float32,) else to(y, *args, **kwargs)
    try:
        with torch.no_grad():
            return net(x, times, encoder_hidden_states=text, text_embedding_mask=masks[0], encoder_hidden_states_t5=t5,
                       text_embedding_mask_t5=masks[1], image_meta_size=meta, style=torch.zeros(b, dtype=torch.int64), image_rotary_emb=rotary,
                       return_dict=False, **more)[0]
    finally:
        torch.Tensor.float, torch.Tensor.to = kept, to


def run(config, b, h, w, *rest, taps=False):
    net = golden.prepare(HunyuanDiT2DControlNetModel.from_config(dict(config)), rest[-1])
    tap = Taps(net) if taps else None
    control = golden.image("input.control", b, h, w, net.config.in_channels)
    y = called(net, b, h, w, *rest, controlnet_cond=control)
    return net, {f"y.{i}": one.float().numpy() for i, one in enumerate(y)}, tap.arrays if tap else {}


def cases():
    for name, (config, *rest) in CASES.items():
        net, ys, taps = run(config, *rest, taps=True)
        assert all(np.isfinite(y).all() for y in ys.values())
        golden.save(HERE, name, {**ys, **taps}, json.loads(net.to_json_string()), VERSIONS, **make.facts(*rest))


BASE = ({k: v for k, v in make.BASE[0].items() if k != "num_layers"} | {"transformer_num_layers": 4}, *make.BASE[1:])
CHANGES = {
    "sample_size": [64],
    "patch_size": [1, 4],
    "in_channels": [3],
    "transformer_num_layers": [6],
    "mlp_ratio": [2.0, 4.3637],
    "cross_attention_dim": [7],
    "cross_attention_dim_t5": [16],
    "pooled_projection_dim": [9],
    "text_len": [4],
    "text_len_t5": [3],
    "use_style_cond_and_image_meta_size": [False],
    "conditioning_channels": [4],
}


def perturbed():
    config, *rest = BASE
    net, ys, _ = run(config, *rest)
    arrays, changes = {"base": ys["y.0"]}, []
    for key, alternatives in CHANGES.items():
        for value in alternatives:
            _, y, _ = run({**config, key: value}, *rest)
            changes.append({"key": key, "value": value})
            arrays[f"y.{len(changes) - 1}"] = y[max(y)]  # the last block's
    golden.save(HERE, "controlnet_perturbed", arrays, json.loads(net.to_json_string()), VERSIONS, changes=changes, **make.facts(*rest))


def added():
    config, b, h, w, *rest = make.CASES["v11"]
    net = golden.prepare(HunyuanDiT2DModel.from_config(dict(config)), rest[-1])
    tokens = (h // 2) * (w // 2)
    samples = [torch.from_numpy(golden.values(f"input.added.{i}", b, tokens, config["hidden_size"])).double() for i in range(2)]
    y = called(net, b, h, w, *rest, controlnet_block_samples=samples)
    golden.save(HERE, "controlnet_added", {"y": golden.channels_last(y)}, json.loads(net.to_json_string()), VERSIONS, **make.facts(b, h, w, *rest))


# Of the published networks for 1.1 and 1.2: those of the transformers. The files themselves were not available: ../README.md.
def structures():
    for name, config in {"controlnet_v11_full": make.V11, "controlnet_v12_full": make.V12}.items():
        config = dict(config, _class_name="HunyuanDiT2DControlNetModel", conditioning_channels=3, transformer_num_layers=config["num_layers"])
        for key in ("num_layers", "learn_sigma", "norm_type"):
            config.pop(key)
        with torch.device("meta"):
            net = HunyuanDiT2DControlNetModel.from_config(config)
            latents = torch.empty(1, 4, 32, 48)
            inputs = (latents, torch.empty(1), latents, 1.0, torch.empty(1, 77, 1024), torch.ones(1, 77), torch.empty(1, 256, 2048), torch.ones(1, 256),
                      torch.empty(1, 6), torch.zeros(1, dtype=torch.int64), (torch.empty(384, 88), torch.empty(384, 88)))
            golden.save_structure(HERE, name, net, VERSIONS, *inputs, **config)


if __name__ == "__main__":
    structures()
    cases()
    perturbed()
    added()
