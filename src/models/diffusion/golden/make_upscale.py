"""Writes upscale.safetensors: latents made larger by torch's interpolate in the ways that A1111's second pass has.

    python make_upscale.py            (torch 2.9)
"""

from pathlib import Path

import torch
from safetensors.torch import save_file

HERE = Path(__file__).parent
MODES = {
    "latent": dict(mode="bilinear", antialias=False),
    "latent-antialiased": dict(mode="bilinear", antialias=True),
    "latent-bicubic": dict(mode="bicubic", antialias=False),
    "latent-bicubic-antialiased": dict(mode="bicubic", antialias=True),
    "latent-nearest": dict(mode="nearest"),
    "latent-nearest-exact": dict(mode="nearest-exact"),
}

torch.manual_seed(3)
z = torch.randn(2, 4, 5, 7)
tensors = {"z": z}
for size in [(10, 14), (8, 11), (5, 7), (5, 20), (17, 7)]:
    for name, options in MODES.items():
        tensors[f"{name}.{size[0]}x{size[1]}"] = torch.nn.functional.interpolate(z, size=size, **options).contiguous()
save_file(tensors, HERE / "upscale.safetensors", metadata={"made by": "make_upscale.py", "torch": torch.__version__})
