"""Small GGUF files written by the reference writer, and expected.json: what the reference reader makes of them (python package gguf
0.19.0, numpy 2.4.6). They are the fuzzer's seeds too.

    pip install gguf numpy
    python golden/make.py
"""
import hashlib
import json
import pathlib

import gguf
import numpy as np
from gguf import GGMLQuantizationType as T
from gguf import GGUFValueType as V

HERE = pathlib.Path(__file__).parent
RANDOM = np.random.default_rng(5)


def values(w):
    w.add_uint8("v.u8", 200)
    w.add_int8("v.i8", -100)
    w.add_uint16("v.u16", 60000)
    w.add_int16("v.i16", -30000)
    w.add_uint32("v.u32", 4000000000)
    w.add_int32("v.i32", -2000000000)
    w.add_float32("v.f32", 1e-5)
    w.add_bool("v.yes", True)
    w.add_bool("v.no", False)
    w.add_string("v.text", "Ünïcode \n {%- if x -%}")
    w.add_key_value("v.empty", "", V.STRING)
    w.add_uint64("v.u64", 2**64 - 1)
    w.add_int64("v.i64", -(2**63))
    w.add_float64("v.f64", 0.1)
    w.add_key_value("a.i32", [3, -4, 5], V.ARRAY, V.INT32)
    w.add_key_value("a.u8", [1, 255], V.ARRAY, V.UINT8)
    w.add_key_value("a.f32", [0.5, -1.25], V.ARRAY, V.FLOAT32)
    w.add_key_value("a.bool", [True, False, True], V.ARRAY, V.BOOL)
    w.add_key_value("a.text", ["a", "", "ß\x00", "Ġthe"], V.ARRAY, V.STRING)


def numbers(w):
    x = RANDOM.standard_normal((2, 3)).astype(np.float32)
    w.add_tensor("f32", x)
    w.add_tensor("f16", x.astype(np.float16))
    w.add_tensor("bf16", gguf.quants.quantize(x, T.BF16), raw_dtype=T.BF16)
    w.add_tensor("f64", x.astype(np.float64))
    for kind in (np.int8, np.int16, np.int32, np.int64):
        w.add_tensor(np.dtype(kind).name, (x * 10).astype(kind))
    w.add_tensor("vector", np.arange(5, dtype=np.float32))
    w.add_tensor("four.axes", RANDOM.standard_normal((2, 3, 1, 4)).astype(np.float32))


def blocks(w):
    for kind in (T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q8_0, T.MXFP4):
        w.add_tensor(f"blk.{kind.name}", gguf.quants.quantize(RANDOM.standard_normal((3, 64)).astype(np.float32), kind), raw_dtype=kind)
    for kind in (T.Q2_K, T.Q3_K, T.Q4_K, T.Q5_K, T.Q6_K, T.IQ4_NL, T.IQ4_XS, T.TQ1_0, T.IQ2_XXS):
        size = gguf.GGML_QUANT_SIZES[kind][1]
        raw = RANDOM.integers(0, 256, (2, size * (8 if kind == T.IQ4_NL else 1)), dtype=np.uint8)
        raw &= 0xBF  # binary16 fields stay finite
        w.add_tensor(f"blk.{kind.name}", raw, raw_dtype=kind)


def write(name, *parts, alignment=None, **more):
    w = gguf.GGUFWriter(HERE / name, "llama", **more)
    if alignment:
        w.add_custom_alignment(alignment)
    for part in parts:
        part(w)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def seen(name):
    reader = gguf.GGUFReader(HERE / name)
    tensors = {}
    for t in reader.tensors:
        known = t.tensor_type != T.TQ1_0
        data = t.data.astype(np.float64) if t.data.dtype != np.uint8 and t.tensor_type != T.BF16 else gguf.quants.dequantize(t.data, t.tensor_type)
        tensors[t.name] = {"shape": [int(d) for d in reversed(t.shape)], "type": t.tensor_type.name}
        if known:
            tensors[t.name]["f32"] = hashlib.sha256(data.astype("<f4").tobytes()).hexdigest()
    return tensors


def main():
    write("every.gguf", values, numbers, blocks)
    write("aligned.gguf", numbers, alignment=128)
    for old in HERE.glob("split-*"):
        old.unlink()
    write("split.gguf", values, numbers, split_max_tensors=4)
    data = bytearray((HERE / "aligned.gguf").read_bytes())
    data[4] = 2
    (HERE / "version2.gguf").write_bytes(data)
    out = {name: seen(name) for name in ("every.gguf", "aligned.gguf", "split-00002-of-00003.gguf")}
    (HERE / "expected.json").write_text(json.dumps(out, indent=1) + "\n")


main()
