"""blocks.json: what the reference reader (python package gguf 0.19.0, numpy 2.4.6) makes of random blocks of every type, and what
its quantizer makes of numbers, as SHA-256.

    pip install gguf numpy
    python make.py
"""
import hashlib
import json
import pathlib

import gguf
import numpy as np
from gguf import GGMLQuantizationType as T
from gguf.constants import GGML_QUANT_SIZES

BLOCKS = 2000


def random_bytes(count, seed):
    """Weyl sequence through a 64-bit mixer; the test has the same."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, count // 8 + 2, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))).view(np.uint8)[:count].copy()


# Where the binary16 fields of each block lie; all their finite patterns occur.
HALVES = {
    T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0], T.Q2_K: [80, 82], T.Q3_K: [108], T.Q4_K: [0, 2],
    T.Q5_K: [0, 2], T.Q6_K: [208], T.IQ4_NL: [0], T.IQ4_XS: [0], T.MXFP4: [],
    T.IQ2_XXS: [0], T.IQ2_XS: [0], T.IQ2_S: [0], T.IQ3_XXS: [0], T.IQ3_S: [0], T.IQ1_S: [0], T.IQ1_M: [],
}


def numbers(count):
    """Weights-like: many small, few large, another size in every 32; then zeros, a constant and one value among zeros."""
    x = random_bytes(4 * count, seed=99).view("<i4").astype(np.float32) * np.float32(2**-31)
    x = x * x * x * np.exp2(np.repeat(np.arange(count // 32) % 24 - 20, 32)).astype(np.float32)
    special = np.zeros((3, 256), np.float32)
    special[1] = -0.375
    special[2, ::32] = 0.5
    return np.concatenate([x, special.ravel()])


def main():
    out = {}
    x = numbers(256 * 500)
    for kind, halves in HALVES.items():
        values, size = GGML_QUANT_SIZES[kind]
        blocks = random_bytes(BLOCKS * size, seed=int(kind)).reshape(BLOCKS, size)
        for at in halves:
            high = blocks[:, at + 1]
            high[(high & 0x7C) == 0x7C] ^= 0x40
        if kind == T.IQ1_M:  # the exponent is in the upper nibble of the last scale, and in one bit of the third
            high = blocks[:, 55]
            high[(high & 0x70) == 0x70] ^= 0x40
        if kind == T.MXFP4:
            blocks[:, 0][blocks[:, 0] > 252] ^= 0x80
        decoded = gguf.quants.dequantize(blocks, kind).astype("<f4")
        assert decoded.shape == (BLOCKS, values) and np.isfinite(decoded).all()
        out[kind.name.lower()] = {"decoded": hashlib.sha256(decoded.tobytes()).hexdigest()}
        try:
            encoded = gguf.quants.quantize(x.reshape(-1, 256), kind)
            out[kind.name.lower()]["encoded"] = hashlib.sha256(encoded.tobytes()).hexdigest()
        except NotImplementedError:
            pass  # the package has no quantizer of this type
    path = pathlib.Path(__file__).parent / "blocks.json"
    path.write_text(json.dumps(out, indent=1) + "\n")


main()
