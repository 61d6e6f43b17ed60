"""Writes the PNG files that the tests of src/media read, and what they must show.

    python make.py

Files are put together chunk by chunk with zlib, so no PNG library has a say. The pixels they must show are computed
from the samples that go in, of 16 bits the upper 8; Pillow shows the same, except that it clips 16-bit grey. pixels.json holds what diffusers' VaeImageProcessor makes of a tensor; pillow.json which kind of text
chunk Pillow chose for each text of pillow.png. Made with diffusers 0.39.0, torch 2.15.0, Pillow 13.0.0, numpy 1.26.4.
"""

import base64
import io
import json
import random
import struct
import zlib
from pathlib import Path

HERE = Path(__file__).parent
W, H = 7, 5
SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def chunk(kind, data, crc=None):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body) if crc is None else crc)


def header(depth, colour, interlace=0, width=W, height=H):
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace))


def pack_row(samples, depth):
    if depth == 16:
        return b"".join(struct.pack(">H", s) for s in samples)
    bits = "".join(format(s, f"0{depth}b") for s in samples)
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8))


def filtered(rows, depth):  # filter type "Up" on every second row, so that filters are undone too
    out, previous = b"", None
    for y, row in enumerate(rows):
        if y % 2 and previous is not None and len(previous) == len(row):
            out += b"\2" + bytes((a - b) % 256 for a, b in zip(row, previous))
        else:
            out += b"\0" + row
        previous = row
    return out


def scan(samples, depth, colour, interlace):
    n = CHANNELS[colour]
    passes = [(0, 0, 1, 1)]
    if interlace:
        passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    data = b""
    for x0, y0, dx, dy in passes:
        rows = [pack_row([s for x in range(x0, W, dx) for s in samples[y][x * n : x * n + n]], depth) for y in range(y0, H, dy)]
        data += filtered([r for r in rows if r], depth)
    return data


def eight_bits(sample, depth):  # sample / (2^depth - 1) * 255
    if depth == 16:
        return sample >> 8
    top = 2**depth - 1
    return (sample * 510 + top) // (2 * top)


def picture(depth, colour, interlace=0, seed=0, extra=b"", palette=None):
    rng = random.Random(f"{depth} {colour} {seed}")
    n = CHANNELS[colour]
    most = len(palette) - 1 if palette else 2**depth - 1
    samples = [[rng.randint(0, most) for _ in range(W * n)] for _ in range(H)]
    shown = []
    for row in samples:
        for x in range(W):
            s = row[x * n : x * n + n]
            if palette:
                shown += palette[s[0]]
            elif n <= 2:
                shown += [eight_bits(s[0], depth)] * 3
            else:
                shown += [eight_bits(v, depth) for v in s[:3]]
    before = chunk(b"PLTE", bytes(v for colour in palette for v in colour)) if palette else b""
    data = zlib.compress(scan(samples, depth, colour, interlace), 9)
    middle = len(data) // 2  # two IDAT chunks
    png = SIGNATURE + header(depth, colour, interlace) + before + extra + chunk(b"IDAT", data[:middle]) + chunk(b"IDAT", data[middle:])
    return png + chunk(b"IEND", b""), bytes(shown)


good = {}
for depth, colour, name in [
    (1, 0, "gray1"), (2, 0, "gray2"), (4, 0, "gray4"), (8, 0, "gray8"), (16, 0, "gray16"), (8, 2, "rgb8"), (16, 2, "rgb16"),
    (8, 4, "gray_alpha8"), (16, 4, "gray_alpha16"), (8, 6, "rgba8"), (16, 6, "rgba16"),
]:  # fmt: skip
    good[name] = picture(depth, colour)
for depth in (1, 2, 4, 8):
    rng = random.Random(depth)
    palette = [[rng.randint(0, 255) for _ in range(3)] for _ in range(min(2**depth, 30))]
    good[f"palette{depth}"] = picture(depth, 3, palette=palette, seed=depth)
    good[f"palette{depth}_transparent"] = picture(depth, 3, palette=palette, extra=chunk(b"tRNS", b"\x00\x80"), seed=9)
good["rgb8_interlaced"] = picture(8, 2, interlace=1)
good["gray1_interlaced"] = picture(1, 0, interlace=1)
good["rgb8_transparent"] = picture(8, 2, extra=chunk(b"tRNS", b"\0\1\0\2\0\3"))

long_text = "".join(f"line {i}, with: \"quotes\"\n" for i in range(200))
texts = [
    ["tEXt", "parameters", "caf\xe9 \xfc, 1: 2\nNegative prompt: x"],
    ["zTXt", "long", long_text],
    ["iTXt", "hearth", '{"prompt": "日本 🙂"}'],
    ["iTXt compressed", "workflow", long_text + "ü"],
    ["tEXt", "empty", ""],
]
before = chunk(b"tEXt", b"parameters\0" + texts[0][2].encode("latin-1")) + chunk(b"zTXt", b"long\0\0" + zlib.compress(long_text.encode()))
before += chunk(b"iTXt", b"hearth\0\0\0\0\0" + texts[2][2].encode())
good["texts"] = picture(8, 2, extra=before)
after = chunk(b"iTXt", b"workflow\0\1\0en\0Ablauf\0" + zlib.compress(texts[3][2].encode())) + chunk(b"tEXt", b"empty\0")
png, shown = good["texts"]
good["texts"] = (png[:-12] + after + png[-12:], shown)

rgb8 = good["rgb8"][0]
idat = rgb8.index(b"IDAT")
bomb = zlib.compress(b"a" * 3_000_000, 9)
hostile = {
    "truncated_header": rgb8[:20],
    "truncated_pixels": rgb8[: idat + 20],
    "no_end": rgb8[:-12],
    "only_signature": SIGNATURE,
    "no_pixels": SIGNATURE + header(8, 2) + chunk(b"IEND", b""),
    "bad_crc_header": rgb8[:29] + b"\0\0\0\0" + rgb8[33:],
    "bad_crc_pixels": rgb8[: idat + 12] + bytes([rgb8[idat + 12] ^ 255]) + rgb8[idat + 13 :],
    "zero_width": SIGNATURE + header(8, 2, width=0) + rgb8[33:],
    "huge": SIGNATURE + header(8, 2, width=2**31 - 1, height=2**31 - 1) + rgb8[33:],
    "large_claim": SIGNATURE + header(8, 2, width=16000, height=16000) + rgb8[33:],
    "too_few_rows": SIGNATURE + header(8, 2, height=H + 1) + rgb8[33:],
    "bad_colour": SIGNATURE + header(8, 5) + rgb8[33:],
    "bad_depth": SIGNATURE + header(3, 2) + rgb8[33:],
    "bad_filter": SIGNATURE + header(8, 2) + chunk(b"IDAT", zlib.compress(b"\7" + b"\0" * 21 * 5)) + chunk(b"IEND", b""),
    "no_palette": SIGNATURE + header(8, 3) + chunk(b"IDAT", zlib.compress(b"\0" * 8 * 5)) + chunk(b"IEND", b""),
    "long_chunk": SIGNATURE + header(8, 2) + struct.pack(">I", 0x7FFFFFFF) + b"IDAT" + b"\0" * 8,
    "not_deflate": SIGNATURE + header(8, 2) + chunk(b"IDAT", b"\xff" * 40) + chunk(b"IEND", b""),
    "jpeg": b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0",
}
bombs = {
    "bomb_ztxt": picture(8, 2, extra=chunk(b"zTXt", b"bomb\0\0" + bomb))[0],
    "bomb_itxt": picture(8, 2, extra=chunk(b"iTXt", b"bomb\0\1\0\0\0" + bomb))[0],
}
for name, data in {**{n: p for n, (p, _) in good.items()}, **hostile, **bombs}.items():
    (HERE / f"{name}.png").write_bytes(data)

expected = {name: base64.b64encode(pixels).decode() for name, (_, pixels) in good.items()}
(HERE / "pictures.json").write_text(
    json.dumps({"width": W, "height": H, "pixels": expected, "hostile": sorted(hostile), "bombs": sorted(bombs), "texts": [t[1:] for t in texts]},
               indent=1, ensure_ascii=False) + "\n")  # fmt: skip

import torch
from diffusers.image_processor import VaeImageProcessor
from PIL import Image
from PIL.PngImagePlugin import PngInfo

processor = VaeImageProcessor()
g = torch.Generator().manual_seed(0)
x = torch.rand((1, 3, 16, 16), generator=g) * 2.4 - 1.2
ties = torch.tensor([(k + 0.5) / 255 for k in range(255)] + [0.0]).reshape(16, 16)  # v*2-1 goes back to (k + 1/2) / 255 or beside it
x[0, 0] = ties * 2 - 1
out = processor.postprocess(x, output_type="pil")[0]
unit = (ties.numpy() * 255).round().astype("uint8")
(HERE / "pixels.json").write_text(json.dumps({
    "x": [float(v) for v in x[0].permute(1, 2, 0).flatten()],
    "rgb": list(out.tobytes()),
    "ties": [float(v) for v in ties.flatten()],
    "ties_rgb": [int(v) for v in unit.flatten()],
}) + "\n")  # fmt: skip

info = PngInfo()
for _, key, text in texts:
    info.add_text(key, text)
buffer = io.BytesIO()
Image.new("RGB", (2, 2), (1, 2, 3)).save(buffer, "png", pnginfo=info)
kinds, data, at = {}, buffer.getvalue(), 8
while at < len(data):
    (n,) = struct.unpack(">I", data[at : at + 4])
    if data[at + 5 : at + 8] == b"EXt" or data[at + 5 : at + 8] == b"TXt":
        kinds[data[at + 8 :].split(b"\0")[0].decode()] = data[at + 4 : at + 8].decode()
    at += 12 + n
(HERE / "pillow.png").write_bytes(data)
(HERE / "pillow.json").write_text(json.dumps(kinds) + "\n")
