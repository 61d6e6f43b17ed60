"""Goldens of the masks of image prompts, by diffusers' IPAdapterMaskProcessor. python src/models/image_prompt/golden/make_masks.py

Made with diffusers 0.39.0, Pillow 13.0.0. The pictures are bytes from name_weights.py, as in make_processor.py.
"""
import sys
import warnings
from pathlib import Path

import diffusers
import numpy as np
import PIL
from diffusers.image_processor import IPAdapterMaskProcessor
from PIL import Image

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402
import name_weights  # noqa: E402

warnings.filterwarnings("ignore")
# name: picture [width, height], size of the run, numbers of positions. The last two have grids that the reference does not find.
CASES = {"same": ([64, 48], [64, 48], [48, 12, 4, 2]), "resized": ([50, 90], [40, 72], [45, 15]), "wide": ([30, 20], [104, 40], [65, 21, 8]),
         "odd": ([24, 24], [56, 48], [42, 12, 4])}


def picture(w, h):
    return Image.fromarray((name_weights.uniforms("picture", w * h * 3) * 256).astype(np.uint8).reshape(h, w, 3))


arrays, cases = {}, {}
for name, (given, (width, height), positions) in CASES.items():
    mask = IPAdapterMaskProcessor().preprocess(picture(*given), height=height, width=width)
    arrays[name] = mask[0, 0].numpy()
    for count in positions:
        arrays[f"{name}.{count}"] = IPAdapterMaskProcessor.downsample(mask[0], 1, count, 1).flatten().float().numpy()
    cases[name] = dict(picture=given, size=[width, height], positions=positions)
golden.save(HERE, "masks", arrays, {}, f"diffusers {diffusers.__version__}, Pillow {PIL.__version__}", cases=cases)
