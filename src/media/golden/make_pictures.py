"""Writes golden/pillow: pictures of every kind that is read, what Pillow shows of them, and files made to hurt.

    python make_pictures.py

golden/pillow/pictures.json holds for each file the pixels of ImageOps.exif_transpose(Image.open(file)).convert("RGB") and, where Pillow knows of
transparency, of convert("RGBA").getchannel("A"). processing.json holds what Pillow makes of them by resizing, blurring and enlarging. Needs cjpeg of
libjpeg-turbo for what Pillow does not write. Made with Pillow 13.0.0 (libjpeg-turbo 3.2.0, libwebp 1.6.0), piexif 1.1.3, numpy,
cjpeg 2.1.5.
"""

import base64
import io
import json
import math
import random
import struct
import subprocess
import zlib
from pathlib import Path

import numpy as np
import piexif
import piexif.helper
from PIL import Image, ImageFilter, ImageOps

HERE = Path(__file__).parent
OUT = HERE / "pillow"
OUT.mkdir(exist_ok=True)
for old in OUT.iterdir():
    old.unlink()


def picture(W=23, H=17, seed=0, channels=3):  # smooth with edges and noise: every frequency
    rng = random.Random(seed)
    data = bytearray()
    for y in range(H):
        for x in range(W):
            for c in range(channels):
                v = 127 + 90 * math.sin((x * (c + 1) + y * 2) / 5 + c) + (60 if (x // 6 + y // 5 + c) % 2 else -60) + rng.randint(-20, 20)
                data.append(max(0, min(255, int(v))))
    return Image.frombytes({1: "L", 3: "RGB", 4: "CMYK"}[channels], (W, H), bytes(data))


def alpha_of(W, H, seed=5):
    rng = random.Random(seed)
    return Image.frombytes("L", (W, H), bytes(rng.choice([0, 0, 255, 255, 128, rng.randint(0, 255)]) for _ in range(W * H)))


def saved(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def cjpeg(image, *options):
    return subprocess.run(["cjpeg", *options], input=saved(image, "ppm"), capture_output=True, check=True).stdout


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def orientation(n):
    exif = Image.Exif()
    exif[0x0112] = n
    return exif.tobytes()


rgb, grey, cmyk = picture(), picture(channels=1), picture(channels=4)
files = {}
for name, options in {
    "full": {"subsampling": 0, "quality": 90},
    "half_across": {"subsampling": 1, "quality": 75},
    "half": {"subsampling": 2, "quality": 75},
    "poor": {"quality": 1},
    "best": {"quality": 100, "subsampling": 0},
    "progressive": {"progressive": True, "subsampling": 2, "quality": 80},
    "restarts": {"restart_marker_blocks": 1, "quality": 80},
    "rgb": {"keep_rgb": True, "quality": 80},
    "comment": {"comment": b"a red house\nSteps: 20, Sampler: Euler, Seed: 7", "quality": 60},
}.items():
    files[f"{name}.jpg"] = saved(rgb, "jpeg", **options)
files["grey.jpg"] = saved(grey, "jpeg", quality=85)
files["grey_progressive.jpg"] = saved(grey, "jpeg", quality=85, progressive=True)
files["cmyk.jpg"] = saved(cmyk, "jpeg", quality=90)
files["cmyk_progressive.jpg"] = saved(cmyk, "jpeg", quality=90, progressive=True)
adobe = files["cmyk.jpg"].index(b"Adobe")
files["ycck.jpg"] = files["cmyk.jpg"][: adobe + 11] + b"\2" + files["cmyk.jpg"][adobe + 12 :]
files["cmyk_unmarked.jpg"] = files["cmyk.jpg"][: adobe - 4] + files["cmyk.jpg"][adobe + 12 :]
files["quarter.jpg"] = cjpeg(rgb, "-sample", "4x1", "-quality", "80")
files["half_down.jpg"] = cjpeg(rgb, "-sample", "1x2", "-quality", "80")
files["arithmetic.jpg"] = cjpeg(rgb, "-arithmetic", "-quality", "80")
files["arithmetic_progressive.jpg"] = cjpeg(rgb, "-arithmetic", "-progressive", "-quality", "80")
files["large.jpg"] = saved(picture(131, 67, 3), "jpeg", quality=70)
files["one.jpg"] = saved(picture(1, 1), "jpeg")
files["narrow.jpg"] = saved(picture(1, 19), "jpeg", quality=80)
files["flat.jpg"] = saved(picture(19, 1), "jpeg", quality=80)

transparent = rgb.copy()
transparent.putalpha(alpha_of(23, 17))
files["lossy.webp"] = saved(rgb, "webp", quality=80)
files["lossless.webp"] = saved(rgb, "webp", lossless=True)
files["lossy_alpha.webp"] = saved(transparent, "webp", quality=70)
files["lossless_alpha.webp"] = saved(transparent, "webp", lossless=True)
files["lossless_exact.webp"] = saved(transparent, "webp", lossless=True, exact=True)
files["one.webp"] = saved(picture(1, 1), "webp", quality=50)
files["large.webp"] = saved(picture(131, 67, 3), "webp", quality=60)
files["large_lossless.webp"] = saved(picture(131, 67, 3), "webp", lossless=True, method=6)
files["grey_alpha.png"] = saved(transparent.convert("LA"), "png")
files["palette_alpha.png"] = saved(rgb.quantize(20), "png", transparency=b"\0\x40\xff\x80")
files["key.png"] = saved(rgb, "png", transparency=rgb.getpixel((3, 4)))

small = picture(6, 4, 9)
small_alpha = small.copy()
small_alpha.putalpha(alpha_of(6, 4))
for n in range(0, 10):
    files[f"turned{n}.jpg"] = saved(small, "jpeg", quality=95, subsampling=0, exif=orientation(n))
    files[f"turned{n}.webp"] = saved(small_alpha, "webp", lossless=True, exact=True, exif=orientation(n))
    files[f"turned{n}.png"] = saved(small_alpha, "png", exif=orientation(n))
little = b"Exif\0\0II*\0\x08\0\0\0" + struct.pack("<HHHIHHI", 1, 0x0112, 3, 1, 6, 0, 0)
files["turned_little.jpg"] = saved(small, "jpeg", exif=little)
packet = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:Orientation="8"/></x:xmpmeta>'
element = b"<x:xmpmeta><tiff:Orientation>5</tiff:Orientation></x:xmpmeta>"
files["turned_xmp.jpg"] = saved(small, "jpeg", xmp=packet)
files["turned_xmp.webp"] = saved(small, "webp", lossless=True, xmp=element)
plain = saved(small, "png")
files["turned_xmp.png"] = plain[:33] + chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + packet) + plain[33:]
hexadecimal = little.hex()
profile = f"\nexif\n{len(little):8}\n" + "\n".join(hexadecimal[i : i + 72] for i in range(0, len(hexadecimal), 72)) + "\n"
files["turned_profile.png"] = plain[:33] + chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(profile.encode())) + plain[33:]

# As A1111's web UI writes its text, and as others do.
text = "a red house, 日本 🙂\nNegative prompt: blurry\nSteps: 20, Sampler: Euler a, CFG scale: 7, Seed: 1"
comment = piexif.helper.UserComment.dump(text, encoding="unicode")
a1111 = piexif.dump({"Exif": {piexif.ExifIFD.UserComment: comment}})
files["a1111.jpg"] = saved(rgb, "jpeg", exif=a1111)
files["a1111.webp"] = saved(rgb, "webp", exif=a1111)
swapped = b"UNICODE\0" + text.encode("utf-16-le")
files["little_comment.jpg"] = saved(rgb, "jpeg", exif=piexif.dump({"Exif": {piexif.ExifIFD.UserComment: swapped}}))
ascii_text = "a cat\nSteps: 1, Sampler: DDIM, Seed: 2"
files["ascii_comment.webp"] = saved(rgb, "webp", exif=piexif.dump({"Exif": {piexif.ExifIFD.UserComment: b"ASCII\0\0\0" + ascii_text.encode()}}))
comfy = Image.Exif()
comfy[0x0110] = 'prompt:{"1": "cat"}'
comfy[0x010F] = 'workflow:{"nodes": []}'
files["comfyui.webp"] = saved(rgb, "webp", exif=comfy)
sdcpp = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF><rdf:Description xmlns:sdcpp="x"><sdcpp:parameters>' + \
    ascii_text.replace("cat", "&lt;lora:x:1&gt; &amp; &quot;cat&#x22;").encode() + b"</sdcpp:parameters></rdf:Description></rdf:RDF></x:xmpmeta>"
files["sdcpp.webp"] = saved(rgb, "webp", xmp=sdcpp)

from PIL import ImageCms

profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
files["profile.jpg"] = saved(small, "jpeg", icc_profile=profile)
files["profile.webp"] = saved(small, "webp", icc_profile=profile)

for name, data in files.items():
    (OUT / name).write_bytes(data)


def shown(path):
    image = Image.open(path)
    if path.suffix == ".png" and image.mode == "RGB" and "transparency" in image.info:
        image = image.convert("RGBA")
    upright = ImageOps.exif_transpose(image)
    pixels = upright.convert("RGB")
    has_alpha = upright.has_transparency_data
    alpha = upright.convert("RGBA").getchannel("A").tobytes() if has_alpha else b""
    return {"width": pixels.width, "height": pixels.height, "rgb": base64.b64encode(pixels.tobytes()).decode(), "alpha": base64.b64encode(alpha).decode()}


others = [n for n in json.loads((HERE / "pictures.json").read_text())["pixels"] if n != "gray16"]
expected = {f"pillow/{name}": shown(OUT / name) for name in sorted(files)} | {f"{n}.png": shown(HERE / f"{n}.png") for n in sorted(others)}

# Files to be refused, with what the message must say.
jpeg, webp = files["half.jpg"], files["lossy.webp"]
sof = jpeg.index(b"\xff\xc0")
frames = [picture(8, 8, s) for s in range(2)]
claim = jpeg[: sof + 5] + struct.pack(">HH", 16000, 16000) + jpeg[sof + 9 :]
progressive = files["progressive.jpg"]
scan = progressive.rindex(b"\xff\xda")
hostile = {
    "truncated.jpg": (jpeg[:-40], "the file ends too early"),
    "truncated_header.jpg": (jpeg[:100], "the file ends too early"),
    "no_end.jpg": (jpeg[:-2], "the file ends too early"),
    "only_mark.jpg": (jpeg[:3], "the file ends too early"),
    "no_picture.jpg": (b"\xff\xd8\xff\xd9", ""),
    "claim.jpg": (claim, "is 16000 × 16000 by its header, too much for"),
    "sides.jpg": (jpeg[: sof + 5] + struct.pack(">HH", 30000, 30000) + jpeg[sof + 9 :], "is 30000 × 30000, at most 268435456 pixels are read"),
    "deep.jpg": (jpeg[: sof + 4] + b"\x0c" + jpeg[sof + 5 :], "precision 12"),
    "two_colours.jpg": (b"\xff\xd8" + b"\xff\xc0" + struct.pack(">HBHHB", 14, 8, 4, 4, 2) + b"\1\x11\0\2\x11\0" + b"\xff\xda" + struct.pack(">HB", 10, 2) + b"\1\0\2\0\0\x3f\0" + b"\0" * 20, "has 2 colours, needed 1"),
    "many_scans.jpg": (progressive[:-2] + progressive[scan:-2] * 600 + b"\xff\xd9", "more than 500 scans"),
    "lossless.jpg": (jpeg[:sof] + b"\xff\xc3" + jpeg[sof + 2 :], "SOF type 0xc3"),
    "truncated.webp": (webp[:-40], "the file ends too early"),
    "truncated_header.webp": (webp[:20], "the file ends too early"),
    "damaged.webp": (webp[:20] + b"\xff" * 10 + webp[30:], "damaged"),
    "no_chunk.webp": (b"RIFF\x04\0\0\0WEBP", ""),
    "animation.webp": (saved(frames[0], "webp", save_all=True, append_images=frames[1:]), "is an animation, needed a still picture"),
    "picture.gif": (saved(small, "gif"), "is a GIF file, needed PNG, JPEG or WebP"),
    "bomb.gif": (b"GIF89a\xff\xff\xff\xff\0\0\0,\0\0\0\0\xff\xff\xff\xff\0\x02\x00;", "is a GIF file, needed PNG, JPEG or WebP"),
    "picture.bmp": (saved(small, "bmp"), "is a BMP file, needed PNG, JPEG or WebP"),
    "picture.tiff": (saved(small, "tiff"), "is a TIFF file, needed PNG, JPEG or WebP"),
    "picture.ppm": (saved(small, "ppm"), "is a PNM file, needed PNG, JPEG or WebP"),
    "picture.jp2": (saved(small, "jpeg2000"), "is a JPEG 2000 file, needed PNG, JPEG or WebP"),
    "picture.ico": (saved(small, "ico"), "is a ICO file, needed PNG, JPEG or WebP"),
    "picture.avif": (b"\0\0\0\x20ftypavif\0\0\0\0avifmif1", "is a AVIF file, needed PNG, JPEG or WebP"),
    "text.png": (b"not a picture at all", "is no picture, needed PNG, JPEG or WebP"),
    "empty.jpg": (b"", "is no picture, needed PNG, JPEG or WebP"),
}
for name, (data, _) in hostile.items():
    (OUT / f"bad_{name}").write_bytes(data)

# Writing: what Pillow shows of its own files of `picture`, made with the same settings.
written = []
for quality, subsampling in [(90, 2), (90, 0), (1, 2), (50, 2), (100, 0)]:
    data = saved(picture(40, 30, 4), "jpeg", quality=quality, subsampling=subsampling)
    written.append({"quality": quality, "full": subsampling == 0, "rgb": base64.b64encode(Image.open(io.BytesIO(data)).tobytes()).decode()})
(OUT / "pictures.json").write_text(json.dumps({
    "shown": expected,
    "hostile": {f"bad_{n}": says for n, (_, says) in hostile.items()},
    "a1111": text,
    "a1111_exif": base64.b64encode(a1111).decode(),
    "written": {"width": 40, "height": 30, "rgb": base64.b64encode(picture(40, 30, 4).tobytes()).decode(), "jpeg": written},
}, indent=1, ensure_ascii=False) + "\n")  # fmt: skip

# Resampling, blurring, enlarging.
FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4}
b64 = lambda data: base64.b64encode(data).decode()
source, mask = picture(37, 29, 6), alpha_of(37, 29, 8)
floats = (np.random.default_rng(1).standard_normal((29, 37)) * 3).astype(np.float32)
sizes = [(37, 29), (64, 48), (16, 24), (5, 3), (1, 1), (100, 7), (37, 40), (50, 29), (111, 87), (12, 90), (33, 20), (32, 19), (32, 18)]
cases = []
for name, code in FILTERS.items():
    for size in sizes:
        cases.append({
            "filter": name, "width": size[0], "height": size[1],
            "rgb": zlib.crc32(source.resize(size, code).tobytes()),
            "mask": zlib.crc32(mask.resize(size, code).tobytes()),
            "floats": zlib.crc32(np.array(Image.fromarray(floats).resize(size, code)).tobytes()),
        })  # fmt: skip
wide = picture(3001, 2, 11)
for name, code in FILTERS.items():
    for size in [(1024, 2), (4001, 3), (997, 1)]:
        cases.append({"filter": name, "width": size[0], "height": size[1], "wide": zlib.crc32(wide.resize(size, code).tobytes())})
unit = source.resize((16, 24), 1)
processed = (np.array(unit).astype(np.float32) / 255.0) * np.float32(2) - np.float32(1)
radii = [0, 0.1, 0.5, 0.9, 1, 1.5, 2, 2.7, 3.3, 4, 5.5, 8, 12.25, 20, 33, 64, 100.5, 400]
blurred = [{"radius": r, "values": zlib.crc32(mask.filter(ImageFilter.GaussianBlur(r)).tobytes())} for r in radii]
thin = [{"radius": r, "values": zlib.crc32(mask.crop((0, 0, 37, 1)).filter(ImageFilter.GaussianBlur(r)).tobytes())} for r in (1, 7, 60)]
border = (3, 0, 5, 2)
(OUT / "processing.json").write_text(json.dumps({
    "width": 37, "height": 29, "rgb": b64(source.tobytes()), "mask": b64(mask.tobytes()), "floats": b64(floats.tobytes()),
    "wide": b64(wide.tobytes()),
    "resampled": cases, "lanczos_16x24": b64(unit.tobytes()), "processed": b64(processed.tobytes()),
    "blurred": blurred, "blurred_one_row": thin, "blurred_4": b64(mask.filter(ImageFilter.GaussianBlur(4)).tobytes()),
    "border": border, "expanded": b64(ImageOps.expand(source, border, (9, 8, 7)).tobytes()),
    "expanded_mask": b64(ImageOps.expand(mask, border, 200).tobytes()), "inverted": b64(ImageOps.invert(mask).tobytes()),
    "grey": b64(source.convert("L").tobytes()),
}) + "\n")  # fmt: skip
