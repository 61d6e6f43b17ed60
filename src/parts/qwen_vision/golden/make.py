"""Goldens of the vision tower of Qwen 2.5 VL from transformers.   python src/parts/qwen_vision/golden/make.py

Made with torch 2.15.0, transformers 4.57.1. Each file holds the result for one image; qwen-vl-7b.json the full-size network.
"""
import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from transformers.models.qwen2_5_vl.configuration_qwen2_5_vl import Qwen2_5_VLVisionConfig
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VisionTransformerPretrainedModel

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"transformers {transformers.__version__}, torch {torch.__version__}"
SMALL = dict(depth=3, hidden_size=16, intermediate_size=20, num_heads=2, out_hidden_size=12, patch_size=4, spatial_merge_size=2, temporal_patch_size=2,
             window_size=16, fullatt_block_indexes=[1])

# name: (config, [rows, columns] of patches, factor)
CASES = {
    # windows that are cut off on both sides
    "cut": (SMALL, [10, 6], 1.0),
    # windows that divide the image
    "whole": (SMALL, [8, 12], 1.0),
    # smaller than a window; no layer attends to the whole; another patch, merging and activation
    "small": (dict(SMALL, depth=2, patch_size=3, spatial_merge_size=1, temporal_patch_size=1, window_size=12, fullatt_block_indexes=[], num_heads=4,
                   hidden_act="gelu"), [3, 2], 1.0),
    # weights × 0.03: every norm sees a small variance, so that a wrong eps shows
    "faint": (dict(SMALL, depth=1), [4, 4], 0.03),
}


def flattened(pixels, c):
    """[H, W, 3] → the rows that the processor makes of an image."""
    H, W, C = pixels.shape
    p, m, frames = c.patch_size, c.spatial_merge_size, c.temporal_patch_size
    x = np.stack([pixels.transpose(2, 0, 1)] * frames).reshape(1, frames, C, H // p // m, m, p, W // p // m, m, p)
    return torch.from_numpy(x.transpose(0, 3, 6, 4, 7, 2, 1, 5, 8).reshape(H // p * (W // p), -1).copy()).double()


def run(config, grid, factor, taps):
    net = golden.prepare(Qwen2_5_VisionTransformerPretrainedModel(Qwen2_5_VLVisionConfig(**config)), factor)
    net.rotary_pos_emb.inv_freq = net.rotary_pos_emb.inv_freq.float()
    c = net.config
    tap = golden.Taps(net, lambda name: name.startswith("blocks.") and name.count(".") == 1) if taps else None
    pixels = golden.values("input.pixels", grid[0] * c.patch_size, grid[1] * c.patch_size, 3)
    with torch.no_grad():
        y = net(flattened(pixels, c), torch.tensor([[1, *grid]]))
    return net, y.float().numpy(), tap.arrays if tap else {}


def cases():
    for name, (config, grid, factor) in CASES.items():
        net, y, taps = run(config, grid, factor, True)
        golden.save(HERE, name, {"y": y, **taps}, json.loads(net.config.to_json_string()), VERSIONS, grid=grid, factor=factor)


BASE = (dict(SMALL, depth=1, fullatt_block_indexes=[]), [6, 4], 1.0)
CHANGES = {"depth": [2], "hidden_size": [24], "intermediate_size": [12], "num_heads": [4], "out_hidden_size": [8], "window_size": [24], "hidden_act": ["gelu"],
           "fullatt_block_indexes": [[0]], "tokens_per_second": [2]}


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
    grid, factor = rest
    golden.save(HERE, "perturbed", arrays, json.loads(net.config.to_json_string(use_diff=False)), VERSIONS, changes=changes, grid=grid, factor=factor)


FULL = dict(depth=32, fullatt_block_indexes=[7, 15, 23, 31], hidden_act="silu", hidden_size=1280, in_channels=3, intermediate_size=3420, num_heads=16,
            out_hidden_size=3584, patch_size=14, spatial_merge_size=2, spatial_patch_size=14, temporal_patch_size=2, tokens_per_second=2, window_size=112,
            model_type="qwen2_5_vl")


def structure():
    with torch.device("meta"):
        net = Qwen2_5_VisionTransformerPretrainedModel(Qwen2_5_VLVisionConfig(**FULL))
    structure = {"config": FULL, "reference": VERSIONS, "tensors": {key: list(value.shape) for key, value in net.state_dict().items()}}
    text = json.dumps(structure, indent=0, sort_keys=True).replace("[\n", "[").replace(",\n", ",").replace("\n]", "]").replace(',"', ',\n"')
    (HERE / "qwen-vl-7b.json").write_text(text + "\n")


structure()
golden.save_defaults(HERE, json.loads(Qwen2_5_VLVisionConfig().to_json_string(use_diff=False)))
cases()
perturbed()
