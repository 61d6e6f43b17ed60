"""Writes resize.safetensors: images resized and cropped as diffusers' PixArt pipelines do it.

    python make_resize.py            (torch 2.15.0, diffusers 0.39.0)
"""

from pathlib import Path

import torch
from diffusers.image_processor import PixArtImageProcessor
from safetensors.torch import save_file

HERE = Path(__file__).parent

torch.manual_seed(4)
tensors = {}
for h, w in [(8, 12), (9, 6)]:
    x = torch.randn(1, 3, h, w)
    tensors[f"{h}x{w}"] = x
    for height, width in [(8, 12), (9, 6), (5, 5), (16, 24), (17, 20), (3, 11), (8, 7)]:
        y = PixArtImageProcessor.resize_and_crop_tensor(x, width, height)
        assert y.shape == (1, 3, height, width)
        tensors[f"{h}x{w}.{height}x{width}"] = y.clone()
save_file(tensors, HERE / "resize.safetensors", metadata={"made by": "make_resize.py", "torch": torch.__version__})
