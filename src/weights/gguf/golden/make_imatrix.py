"""Importance matrices in both formats of llama.cpp, written by the reference writer (python package gguf 0.19.0) and by its description
(llama.cpp tools/imatrix): two dense matrices, and one of three experts of which one got no token.

    pip install gguf numpy
    python golden/make_imatrix.py
"""
import pathlib
import struct

import gguf
import numpy as np

HERE = pathlib.Path(__file__).parent
CHUNK, CHUNKS = 8, 3
# name → matrices, columns, rows of left sides of each matrix
ENTRIES = {"blk.0.attn_q.weight": (1, 4, [24]), "blk.0.ffn_down_exps.weight": (3, 2, [10, 0, 38]), "blk.1.attn_q.weight": (1, 4, [24])}


def means(name):
    matrices, columns, _ = ENTRIES[name]
    return (np.arange(matrices * columns, dtype=np.float32).reshape(matrices, columns) + len(name) - 18) / 4


def main():
    w = gguf.GGUFWriter(HERE / "imatrix.gguf", "")
    w.add_type("imatrix")
    w.add_array("imatrix.datasets", ["text.txt"])
    w.add_uint32("imatrix.chunk_count", CHUNKS)
    w.add_uint32("imatrix.chunk_size", CHUNK)
    with open(HERE / "imatrix.dat", "wb") as f:
        f.write(struct.pack("<i", len(ENTRIES)))
        for name, (matrices, columns, counts) in ENTRIES.items():
            rows = np.array(counts, np.float32)[:, None]
            w.add_tensor(name + ".in_sum2", means(name) * rows)
            w.add_tensor(name + ".counts", rows)
            calls = -(-max(counts) // CHUNK)
            values = np.where(rows > 0, means(name), np.float32(1)) * np.float32(calls)
            f.write(struct.pack("<i", len(name)) + name.encode() + struct.pack("<ii", calls, values.size) + values.astype("<f4").tobytes())
        f.write(struct.pack("<ii", CHUNKS, len("text.txt")) + b"text.txt")
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


main()
