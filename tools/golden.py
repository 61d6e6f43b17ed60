"""What the golden recipes (src/**/golden/make.py) share: inputs by name, taps, and the file that tests/support/golden.h reads.

The reference networks run in float64 with the f32 weights of name_weights.py, so a golden carries the rounding of its own
storage only, and a test sees hearth's error alone.
"""
import json
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

sys.path.insert(0, str(Path(__file__).parent))
import name_weights  # noqa: E402

TAP_VALUES = 256  # a tap keeps every k-th of its values, k = ceil(count / TAP_VALUES), channels last


def values(name, *shape):
    """f32 in [-1, 1) from a name: the same numbers as test_values() in C++."""
    return (2 * name_weights.uniforms(name, int(np.prod(shape))) - 1).reshape(shape)


def image(name, b, h, w, c, factor=1.0):
    """Named values as a float64 tensor [b, c, h, w]; their order is that of hearth's [b, h, w, c]."""
    return torch.from_numpy(values(name, b, h, w, c) * np.float32(factor)).double().permute(0, 3, 1, 2).contiguous()


def prepare(module, factor=1.0):
    """Name-derived weights, widened to float64; everything but the norms' scales and shifts is first multiplied by `factor`."""
    module = module.float().eval()
    name_weights.fill(module)
    if factor != 1:
        with torch.no_grad():
            for name, value in module.state_dict().items():
                if "norm" not in name:
                    value.mul_(factor)
    return module.double()


def same(a, b):
    return a.shape == b.shape and bool((a == b).all())


def channels_last(y):
    y = y[0] if isinstance(y, tuple) else y
    y = getattr(y, "sample", y)
    y = y.detach()
    return (y.permute(0, 2, 3, 1) if y.dim() == 4 else y).float().numpy()


class Taps:
    """Outputs of the modules whose path satisfies `wanted`, thinned out."""

    def __init__(self, module, wanted):
        self.arrays = {}
        for name, child in module.named_modules():
            if wanted(name):
                child.register_forward_hook(lambda _, __, y, name=name: self.add(name, channels_last(y)))

    def add(self, name, array):
        flat = np.ascontiguousarray(array).reshape(-1)
        self.arrays[f"tap.{name}"] = flat[:: -(-flat.size // TAP_VALUES)].copy()


def save(folder, name, arrays, config, versions, **facts):
    """golden/<name>.safetensors; `config` is the reference's own config.json, which the test parses. All facts stand under one
    metadata key, because safetensors writes several in any order: the same recipe gives the same bytes."""
    metadata = {"facts": json.dumps({"config": config, "reference": versions, **facts}, sort_keys=True)}
    path = Path(folder) / f"{name}.safetensors"
    save_file({key: np.ascontiguousarray(value, dtype=np.float32) for key, value in arrays.items()}, path, metadata=metadata)
    print(f"{path.name}: {len(arrays)} tensors, {path.stat().st_size} bytes")


def save_structure(folder, name, module, versions, *inputs, **config):
    """golden/<name>.json: a full-size network's config, tensor names and shapes, and the multiplications and additions of its
    products for `inputs`, counted by torch on the meta device. `config` is the published file."""
    from torch.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        module(*inputs)
    structure = {"config": config, "reference": versions, "flop": counter.get_total_flops(),
                 "tensors": {key: list(value.shape) for key, value in module.state_dict().items()}}
    text = json.dumps(structure, indent=0, sort_keys=True).replace("[\n", "[").replace(",\n", ",").replace("\n]", "]").replace(',"', ',\n"')
    (Path(folder) / f"{name}.json").write_text(text + "\n")
    print(f"{name}.json: {len(structure['tensors'])} tensors, {structure['flop']} flop")


def save_defaults(folder, config):
    """golden/defaults.json: what an empty config.json means to the reference."""
    (Path(folder) / "defaults.json").write_text(json.dumps(config, indent=0, sort_keys=True) + "\n")
