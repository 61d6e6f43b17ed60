"""Writes golden/editing.json: pictures fitted into other sizes, masked regions, pictures painted into.

    python make_editing.py

Pillow does the work, in the steps that A1111's web UI and diffusers' VaeImageProcessor take. Made with Pillow 13.0.0.
"""

import base64
import json
import math
import random
import zlib
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter, ImageOps

HERE = Path(__file__).parent
crc = lambda image: zlib.crc32(image.tobytes())
b64 = lambda data: base64.b64encode(data).decode()


def picture(W, H, seed):
    rng = random.Random(seed)
    return Image.frombytes("RGB", (W, H), bytes(
        max(0, min(255, int(127 + 90 * math.sin((x * (c + 1) + y * 2) / 5 + c) + rng.randint(-40, 40))))
        for y in range(H) for x in range(W) for c in range(3)))  # fmt: skip


def soft_mask(W, H, seed):
    rng = random.Random(seed)
    mask = np.zeros((H, W), np.uint8)
    mask[H // 4 : H * 2 // 3, W // 3 : W * 3 // 4] = 255
    for _ in range(40):
        mask[rng.randrange(H // 5, H - 3), rng.randrange(W // 4, W - 4)] = rng.randrange(256)
    return Image.fromarray(mask)


def fit(image, width, height, how):
    """images.resize_image of A1111 and VaeImageProcessor.resize: the same three ways."""
    lanczos = Image.Resampling.LANCZOS
    if how == "stretch":
        return image.resize((width, height), lanczos)
    ratio, own = width / height, image.width / image.height
    wide = ratio > own if how == "crop" else ratio < own
    tall = ratio <= own if how == "crop" else ratio >= own
    w = width if wide else image.width * height // image.height
    h = height if tall else image.height * width // image.width
    small = image.resize((w, h), lanczos)
    canvas = Image.new(image.mode, (width, height))
    canvas.paste(small, (width // 2 - w // 2, height // 2 - h // 2))
    if how == "fill" and ratio < own and (gap := height // 2 - h // 2) > 0:
        canvas.paste(small.resize((width, gap), box=(0, 0, width, 0)), (0, 0))
        canvas.paste(small.resize((width, gap), box=(0, h, width, h)), (0, gap + h))
    elif how == "fill" and ratio > own and (gap := width // 2 - w // 2) > 0:
        canvas.paste(small.resize((gap, height), box=(0, 0, 0, height)), (0, 0))
        canvas.paste(small.resize((gap, height), box=(w, 0, w, height)), (gap + w, 0))
    return canvas


def region(mask, width, height, padding):
    """VaeImageProcessor.get_crop_region."""
    from diffusers.image_processor import VaeImageProcessor
    return VaeImageProcessor.get_crop_region(mask, width, height, pad=padding)


def kept(image, mask):
    out = Image.new("RGBa", image.size)
    out.paste(image.convert("RGBA").convert("RGBa"), mask=ImageOps.invert(mask))
    return out.convert("RGBA")


def pasted(painted, original, mask, box=None):
    """The painted picture with what is not masked of the original above it; `box`: where in the original it was painted."""
    if box is not None:
        base = Image.new("RGBA", original.size)
        base.paste(fit(painted, box[2] - box[0], box[3] - box[1], "crop"), (box[0], box[1]))
        painted = base
    painted = painted.convert("RGBA")
    painted.alpha_composite(kept(original, mask))
    return painted.convert("RGB")


def filled(image, mask):
    """masking.fill of A1111: what is masked takes the colours around it, blurred."""
    out = Image.new("RGBA", image.size)
    known = Image.new("RGBa", image.size)
    known.paste(image.convert("RGBA").convert("RGBa"), mask=ImageOps.invert(mask))
    for radius, repeats in [(256, 1), (64, 1), (16, 2), (4, 4), (2, 2), (0, 1)]:
        blurred = known.filter(ImageFilter.GaussianBlur(radius)).convert("RGBA")
        for _ in range(repeats):
            out.alpha_composite(blurred)
    return out.convert("RGB")


source, mask, painted = picture(53, 41, 1), soft_mask(53, 41, 2), picture(53, 41, 3)
sizes = [(53, 41), (64, 64), (96, 32), (24, 80), (40, 41), (53, 30), (106, 82), (8, 8), (57, 41), (53, 48), (3, 30), (54, 41)]
fits = [{"how": how, "width": w, "height": h, "rgb": crc(fit(source, w, h, how)), "mask": crc(fit(mask, w, h, how))}
        for how in ("stretch", "crop", "fill") for w, h in sizes]  # fmt: skip
thin = picture(30, 1, 4)  # an edge without a neighbour
fits_thin = [{"width": w, "height": h, "rgb": crc(fit(thin, w, h, "fill"))} for w, h in [(30, 9), (60, 41), (90, 1)]]

regions = []
spots = {"middle": (20, 10, 30, 15), "corner": (50, 38, 53, 41), "edge": (0, 20, 4, 41), "all": (0, 0, 53, 41), "dot": (7, 9, 8, 10)}
for name, (x1, y1, x2, y2) in spots.items():
    for width, height in [(64, 64), (96, 32), (32, 96), (8, 200)]:
        for padding in (0, 3, 32):
            spot = np.zeros((41, 53), np.uint8)
            spot[y1:y2, x1:x2] = 1  # anything but nothing counts
            regions.append({"spot": [x1, y1, x2, y2], "width": width, "height": height, "padding": padding,
                            "region": [int(v) for v in region(Image.fromarray(spot), width, height, padding)]})  # fmt: skip

box = (11, 7, 44, 30)
(HERE / "editing.json").write_text(json.dumps({
    "width": 53, "height": 41, "rgb": b64(source.tobytes()), "mask": b64(mask.tobytes()), "painted": b64(painted.tobytes()),
    "thin": b64(thin.tobytes()), "fits": fits, "fits_thin": fits_thin, "regions": regions, "box": box,
    "pasted": crc(pasted(painted, source, mask)), "pasted_box": crc(pasted(painted.resize((64, 64)), source, mask, box)),
    "painted_64": b64(painted.resize((64, 64)).tobytes()), "filled": crc(filled(source, mask)),
    "filled_blurred": crc(filled(source, mask.filter(ImageFilter.GaussianBlur(3)))),
    "cropped": crc(source.crop(box)), "cropped_mask": crc(mask.crop(box)),
}) + "\n")  # fmt: skip
