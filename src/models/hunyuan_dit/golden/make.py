"""Goldens of the transformer from diffusers' HunyuanDiT2DModel.   python src/models/hunyuan_dit/golden/make.py

Made with torch 2.15.0, diffusers 0.39.0. Writes one file per configuration; perturbed.safetensors: one base configuration with one key changed at
a time; rotations.safetensors: tables of positions; and the structure of the published networks. The reference computes norms in f32; here they
stay in float64.
"""
import json
import sys
from pathlib import Path

import diffusers
import numpy as np
import torch
from diffusers import HunyuanDiT2DModel
from diffusers.models.embeddings import get_2d_rotary_pos_embed
from diffusers.pipelines.hunyuandit.pipeline_hunyuandit import get_resize_crop_region_for_grid

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"diffusers {diffusers.__version__}, torch {torch.__version__}"
BOTH = dict(in_channels=4, patch_size=2, sample_size=8)

# name: (config, batch, height, width, timesteps, lengths of the text, of T5's, sizes, weight factor)
CASES = {
    # as 1.1: sizes and a style; texts of several lengths; a timestep for each image; wide
    "v11": (dict(BOTH, num_layers=6, num_attention_heads=2, attention_head_dim=8, hidden_size=16, cross_attention_dim=12, cross_attention_dim_t5=16,
                 pooled_projection_dim=10, text_len=5, text_len_t5=7), 2, 6, 10, [999.0, 21.5], [5, 2], [3, 7], [1024, 1024, 768, 1280, 0, 16], 1.0),
    # as 1.2: neither; tall; another ratio of the MLP
    "v12": (dict(BOTH, num_layers=4, num_attention_heads=3, attention_head_dim=4, hidden_size=12, cross_attention_dim=9, cross_attention_dim_t5=8,
                 pooled_projection_dim=6, text_len=4, text_len_t5=3, mlp_ratio=4.3637, use_style_cond_and_image_meta_size=False), 1, 14, 4, [437.25], [1], [2],
            [], 1.0),
    # two blocks, so that nothing is skipped; patches of three; a square; no text at all
    "unusual": (dict(in_channels=3, patch_size=3, sample_size=9, num_layers=2, num_attention_heads=1, attention_head_dim=12, hidden_size=12,
                     cross_attention_dim=7, cross_attention_dim_t5=8, pooled_projection_dim=5, text_len=2, text_len_t5=2), 2, 9, 9, [712.0], [0, 2], [2, 0],
                [512, 512, 512, 512, 0, 0], 1.0),
    # weights × 0.03: every norm sees small values, so that an eps of 1e-5 where 1e-6 is right shows
    "faint": (dict(BOTH, num_layers=4, num_attention_heads=2, attention_head_dim=4, hidden_size=8, cross_attention_dim=6, cross_attention_dim_t5=8,
                   pooled_projection_dim=5, text_len=3, text_len_t5=2, use_style_cond_and_image_meta_size=False), 1, 4, 6, [250.0], [2], [1], [], 0.03),
}


class Taps(golden.Taps):
    def __init__(self, net):
        super().__init__(net, lambda name: name in ("pos_embed", "time_extra_emb", "time_extra_emb.pooler", "norm_out")
                         or name.startswith("blocks.") and name.count(".") == 1)
        net.text_embedder.register_forward_hook(lambda _, __, y: self.add("text_embedder", y.detach().float().numpy()))


def rotations(net, rows, columns):
    base = 512 // 8 // net.config.patch_size
    crop = get_resize_crop_region_for_grid((rows, columns), base)
    return get_2d_rotary_pos_embed(net.inner_dim // net.num_heads, crop, (rows, columns), output_type="pt")


def run(config, b, h, w, timesteps, lengths, lengths_t5, sizes, factor, taps):
    net = golden.prepare(HunyuanDiT2DModel.from_config(dict(config)), factor)
    tap = Taps(net) if taps else None
    c = net.config
    x = golden.image("input.x", b, h, w, c.in_channels)
    text = torch.from_numpy(golden.values("input.text", b, c.text_len, c.cross_attention_dim)).double()
    t5 = torch.from_numpy(golden.values("input.t5", b, c.text_len_t5, c.cross_attention_dim_t5)).double()
    masks = [torch.tensor([[int(t < n) for t in range(rows)] for n in ns]) for ns, rows in ((lengths, c.text_len), (lengths_t5, c.text_len_t5))]
    times = torch.tensor(timesteps if len(timesteps) == b else timesteps * b, dtype=torch.float64)
    rotary = tuple(y.double() for y in rotations(net, h // c.patch_size, w // c.patch_size))
    meta = torch.tensor([sizes] * b, dtype=torch.float64) if sizes else None
    kept, to = torch.Tensor.float, torch.Tensor.to
    torch.Tensor.float = lambda y: y
    torch.Tensor.to = lambda y, *args, **kwargs: y if y.dtype == torch.float64 and args == (torch.float32,) else to(y, *args, **kwargs)
    try:
        with torch.no_grad():
            y = net(x, times, encoder_hidden_states=text, text_embedding_mask=masks[0], encoder_hidden_states_t5=t5, text_embedding_mask_t5=masks[1],
                    image_meta_size=meta, style=torch.zeros(b, dtype=torch.int64), image_rotary_emb=rotary).sample
    finally:
        torch.Tensor.float, torch.Tensor.to = kept, to
    return net, golden.channels_last(y), tap.arrays if tap else {}


def facts(b, h, w, timesteps, lengths, lengths_t5, sizes, factor):
    return dict(batch=b, height=h, width=w, timesteps=timesteps, lengths=lengths, lengths_t5=lengths_t5, sizes=sizes, factor=factor)


def cases():
    for name, (config, *rest) in CASES.items():
        net, y, taps = run(config, *rest, True)
        assert np.isfinite(y).all()
        golden.save(HERE, name, {"y": y, **taps}, json.loads(net.to_json_string()), VERSIONS, **facts(*rest))


# Keys changed one at a time in the config of BASE: the values, and the output that the reference gives.
BASE = (dict(BOTH, num_layers=4, num_attention_heads=2, attention_head_dim=4, hidden_size=8, cross_attention_dim=6, cross_attention_dim_t5=8,
             pooled_projection_dim=5, text_len=3, text_len_t5=2), 1, 4, 8, [321.0], [2], [1], [96, 64, 32, 64, 0, 0], 1.0)
CHANGES = {
    "sample_size": [64],
    "patch_size": [1, 4],
    "in_channels": [3],
    "num_layers": [2, 6],
    "mlp_ratio": [2.0, 4.3637],
    "cross_attention_dim": [7],
    "cross_attention_dim_t5": [16],
    "pooled_projection_dim": [9],
    "text_len": [4],
    "text_len_t5": [3],
    "use_style_cond_and_image_meta_size": [False],
    "norm_type": ["ada_norm"],
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
    golden.save(HERE, "perturbed", arrays, json.loads(net.to_json_string()), VERSIONS, changes=changes, **facts(*rest))


TABLES = [(4, 6, 8, 32), (9, 3, 12, 32), (7, 7, 4, 16), (3, 1, 16, 64), (2, 13, 88, 32), (48, 80, 8, 32)]  # rows, columns, head size, base


def tables():
    arrays = {}
    for i, (rows, columns, head, base) in enumerate(TABLES):
        cos, sin = get_2d_rotary_pos_embed(head, get_resize_crop_region_for_grid((rows, columns), base), (rows, columns), output_type="pt")
        arrays[str(i)] = torch.stack([cos[:, ::2], sin[:, ::2]], dim=1).numpy()
    golden.save(HERE, "rotations", arrays, {}, VERSIONS, tables=TABLES)


# Of the published networks. The files themselves were not available: ../README.md.
V12 = dict(_class_name="HunyuanDiT2DModel", _diffusers_version="0.29.0.dev0", activation_fn="gelu-approximate", attention_head_dim=88, cross_attention_dim=1024,
           cross_attention_dim_t5=2048, hidden_size=1408, in_channels=4, learn_sigma=True, mlp_ratio=4.3637, norm_type="layer_norm", num_attention_heads=16,
           num_layers=40, patch_size=2, pooled_projection_dim=1024, sample_size=128, text_len=77, text_len_t5=256, use_style_cond_and_image_meta_size=False)
V11 = {**V12, "use_style_cond_and_image_meta_size": True}


def structures():
    for name, config in {"v11": V11, "v12": V12}.items():
        with torch.device("meta"):
            net = HunyuanDiT2DModel.from_config(config)
            inputs = (torch.empty(1, 4, 32, 48), torch.empty(1), torch.empty(1, 77, 1024), torch.ones(1, 77), torch.empty(1, 256, 2048), torch.ones(1, 256),
                      torch.empty(1, 6), torch.zeros(1, dtype=torch.int64), (torch.empty(384, 88), torch.empty(384, 88)))
            golden.save_structure(HERE, name, net, VERSIONS, *inputs, **config)


if __name__ == "__main__":
    structures()
    tables()
    cases()
    perturbed()
