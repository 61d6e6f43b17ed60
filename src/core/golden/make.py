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
}


def main():
    out = {}
    for kind, halves in HALVES.items():
        values, size = GGML_QUANT_SIZES[kind]
        blocks = random_bytes(BLOCKS * size, seed=int(kind)).reshape(BLOCKS, size)
        for at in halves:
            high = blocks[:, at + 1]
            high[(high & 0x7C) == 0x7C] ^= 0x40
        if kind == T.MXFP4:
            blocks[:, 0][blocks[:, 0] > 252] ^= 0x80
        decoded = gguf.quants.dequantize(blocks, kind).astype("<f4")
        assert decoded.shape == (BLOCKS, values) and np.isfinite(decoded).all()
        out[kind.name.lower()] = {"decoded": hashlib.sha256(decoded.tobytes()).hexdigest()}
    path = pathlib.Path(__file__).parent / "blocks.json"
    path.write_text(json.dumps(out, indent=1) + "\n")


main()
