"""Goldens of control images: what OpenCV makes of pictures.   python src/media/golden/make_control.py

needs numpy and opencv-python-headless (made with 4.12.0); writes control.json: PNG-free, base64 of bytes, per case the picture's size and kind,
the thresholds, and the SHA-256 of cv2.Canny's bytes with the number of its edge pixels; for line art the values themselves.
"""
import base64
import hashlib
import json
from pathlib import Path

import cv2
import numpy as np

cv2.ipp.setUseIPP(False)
cv2.setUseOptimized(True)


def random_pixels(width, height, seed):  # as golden_files_test.h
    out = np.empty(width * height * 3, np.uint8)
    for i in range(out.size):
        seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
        out[i] = seed >> 24
    return out.reshape(height, width, 3)


def waves(width, height):  # integers only: the same bytes in C++
    y, x = np.mgrid[0:height, 0:width].astype(np.int64)
    planes = [(x * x * (3 + c) + y * y * (5 - c) + x * y) // (60 + 7 * c) % 256 for c in range(3)]
    return np.stack(planes, -1).astype(np.uint8)


def blocks(width, height):
    return np.ascontiguousarray(random_pixels((width + 7) // 8, (height + 7) // 8, 7).repeat(8, 0).repeat(8, 1)[:height, :width])


PICTURES = {"random": lambda w, h: random_pixels(w, h, 3), "waves": waves, "blocks": blocks}


def line_art(img):  # A1111's lineart_standard
    x = img.astype(np.float32)
    g = cv2.GaussianBlur(x, (0, 0), 6.0)
    intensity = np.min(g - x, axis=2).clip(0, 255)
    intensity /= max(16, np.median(intensity[intensity > 8]))
    intensity *= 127
    return intensity.clip(0, 255).astype(np.uint8)


cases = []
for kind in PICTURES:
    for width, height in ((64, 48), (33, 57), (1, 9), (200, 3)):
        picture = PICTURES[kind](width, height)
        for low, high in ((100, 200), (20.7, 500.2), (0, 0), (300, 1500)):
            edges = cv2.Canny(picture, low, high)
            cases.append(dict(kind=kind, width=width, height=height, low=low, high=high, edges=int((edges > 0).sum()),
                              sha256=hashlib.sha256(edges.tobytes()).hexdigest()))
lines = []
for kind in ("waves", "blocks"):
    for width, height in ((64, 48), (130, 90)):
        art = line_art(PICTURES[kind](width, height))
        lines.append(dict(kind=kind, width=width, height=height, values=base64.b64encode(art.tobytes()).decode()))
print(sum(c["edges"] > 0 for c in cases), "of", len(cases), "have edges")
Path(__file__).with_name("control.json").write_text(json.dumps(dict(opencv=cv2.__version__, canny=cases, lineart=lines), indent=0) + "\n")
