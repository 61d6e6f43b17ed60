"""Writes variation.safetensors: A1111's way between the noises of two seeds.

    python make_variation.py          (torch 2.9)

The formula of A1111's rng.slerp on [C, H, W] noise, written out in f64: angles between the columns (axis 1), one mean cosine for all.
"""

from pathlib import Path

import torch
from safetensors.torch import save_file


def way(val, low, high):
    low, high = low.double(), high.double()
    cosine = (low / low.norm(dim=1, keepdim=True) * high / high.norm(dim=1, keepdim=True)).sum(1)
    if cosine.mean() > 0.9995:
        return low * val + high * (1 - val)
    angle = torch.acos(cosine)
    sine = torch.sin(angle)
    return (torch.sin((1 - val) * angle) / sine).unsqueeze(1) * low + (torch.sin(val * angle) / sine).unsqueeze(1) * high


def noise(seed):
    return torch.randn(4, 6, 5, generator=torch.Generator().manual_seed(seed))


tensors = {f"{a}.{b}.{strength}": way(strength, noise(a), noise(b)).float().contiguous()
           for a, b in [(5, 9), (6, 10), (5, 5)] for strength in (0.1, 0.5, 1.0)}  # fmt: skip
save_file(tensors, Path(__file__).parent / "variation.safetensors", metadata={"made by": "make_variation.py", "torch": torch.__version__})
