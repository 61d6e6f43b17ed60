"""Goldens of images prepared for a vision tower, by transformers' SiglipImageProcessor and CLIPImageProcessor.
python src/models/image_prompt/golden/make_processor.py

Made with transformers 4.57.1, Pillow 13.0.0: f32 [H, W, 3] per case. The pictures are bytes from name_weights.py: (u·256) of "picture".
"""
import json
import sys
from pathlib import Path

import numpy as np
import PIL
import transformers
from PIL import Image
from transformers import CLIPImageProcessor, SiglipImageProcessor

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402
import name_weights  # noqa: E402

# name: (arguments, picture [width, height])
CASES = {
    "published": (dict(size=dict(height=12, width=12), resample=3, rescale_factor=0.00392156862745098), [19, 31]),
    "larger": (dict(size=dict(height=16, width=10)), [7, 5]),
    "same": (dict(size=dict(height=6, width=8)), [8, 6]),
    "colors": (dict(size=dict(height=5, width=6), resample=2, image_mean=[0.4, 0.5, 0.6], image_std=[0.2, 0.3, 0.4]), [11, 4]),
    "nearest": (dict(size=dict(height=5, width=6), resample=0, rescale_factor=1 / 127.5, image_mean=1.0, image_std=1.0), [11, 9]),
    "lanczos": (dict(size=dict(height=5, width=6), resample=1, do_rescale=False), [11, 9]),
    "box": (dict(size=dict(height=5, width=6), resample=4, do_normalize=False), [11, 9]),
}


def picture(w, h):
    return Image.fromarray((name_weights.uniforms("picture", w * h * 3) * 256).astype(np.uint8).reshape(h, w, 3))


def config_of(processor):
    return {key: value for key, value in json.loads(processor.to_json_string()).items() if not key.startswith("_")}


arrays, cases = {}, {}
for name, (arguments, size) in CASES.items():
    processor = SiglipImageProcessor(**arguments)
    values = processor.preprocess(images=picture(*size), do_resize=True, return_tensors="np", do_convert_rgb=True)["pixel_values"][0]
    assert values.dtype == np.float32 or name == "lanczos", values.dtype
    arrays[name] = values.transpose(1, 2, 0)
    cases[name] = dict(picture=size, config=config_of(processor))
# As diffusers makes it for an image encoder: [width, height] of the picture, side.
clip = {"clip_wide": ([31, 17], 12), "clip_tall": ([9, 14], 12), "clip_square": ([20, 20], 8), "clip_same": ([12, 12], 12), "clip_odd": ([23, 10], 7)}
for name, (size, side) in clip.items():
    processor = CLIPImageProcessor(size=side, crop_size=side)
    arrays[name] = processor(picture(*size), return_tensors="np").pixel_values[0].transpose(1, 2, 0)
golden.save(HERE, "processor", arrays, config_of(SiglipImageProcessor()), f"transformers {transformers.__version__}, Pillow {PIL.__version__}", cases=cases, clip={name: dict(picture=size, side=side) for name, (size, side) in clip.items()})
