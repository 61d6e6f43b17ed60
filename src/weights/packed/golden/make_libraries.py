"""Layers as bitsandbytes 0.50.2, compressed-tensors 0.11.0 and DeepSeek's checkpoints store them, and what those libraries make of them
again: NAME.safetensors and NAME_unpacked.safetensors, as in make.py.

    pip install torch safetensors bitsandbytes compressed-tensors==0.11.0
    python golden/make_libraries.py
"""
import pathlib

import bitsandbytes.functional as bnb
import torch
from bitsandbytes.backends.default.ops import _dequantize_4bit_compute
from compressed_tensors.compressors.quantized_compressors.pack_quantized import pack_to_int32
from compressed_tensors.quantization.lifecycle.forward import dequantize
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
N, K, G = 20, 96, 32
RANDOM = torch.Generator().manual_seed(5)


def normal(*shape, dtype=torch.float32):
    return (torch.randn(shape, generator=RANDOM) * 0.05).to(dtype)


def integers(low, high, *shape, dtype=torch.int8):
    return torch.randint(low, high, shape, generator=RANDOM).to(dtype)


def scales(*shape, dtype=torch.float16):
    return (torch.rand(shape, generator=RANDOM) * 0.02 + 0.001).to(dtype)


def e4m3(*shape):
    bits = torch.randint(0, 256, shape, generator=RANDOM).to(torch.uint8)
    bits[(bits & 0x7F) == 0x7F] ^= 1  # NaN
    return bits.view(torch.float8_e4m3fn)


def four_bits(kind, dtype, nested, storage=torch.uint8):
    w = normal(N, K, dtype=dtype)
    codes, state = bnb.quantize_4bit(w, blocksize=64, compress_statistics=nested, quant_type=kind, quant_storage=storage)
    # Not dequantize_4bit: its code for CPUs is wrong for rows that are not a multiple of the block.
    absmax = bnb.dequantize_blockwise(state.absmax, state.state2) + state.offset if nested else state.absmax
    values = _dequantize_4bit_compute(codes.view(torch.uint8).reshape(-1), absmax, state.code, 64, (N, K), dtype)
    return {"weight": codes, **{f"weight.{k}": v for k, v in state.as_dict(packed=True).items()}}, values


def eight_bits():
    codes, scb, _ = bnb.int8_vectorwise_quant(normal(N, K, dtype=torch.float16))
    exact = codes.double() * scb.double()[:, None] / 127  # the library multiplies by 1/127, rounded
    assert (exact - bnb.int8_vectorwise_dequant(codes, scb).double()).abs().max() < 1e-8
    tensors = {"weight": codes, "SCB": scb, "weight_format": torch.tensor(0, dtype=torch.uint8)}
    return tensors, codes.float() * (scb * (1 / torch.tensor(127.0)))[:, None]


def packed(bits, groups, symmetric, packed_zero=True, order=None, dtype=torch.float16):
    least, most = -(1 << (bits - 1)), 1 << (bits - 1)
    codes, s = integers(least, most, N, K), scales(N, groups, dtype=dtype)
    zero = None if symmetric else integers(least, most, N, groups)
    tensors = {"weight_packed": pack_to_int32(codes, bits), "weight_scale": s, "weight_shape": torch.tensor([N, K])}
    if zero is not None:
        tensors["weight_zero_point"] = pack_to_int32(zero, bits, packed_dim=0).contiguous() if packed_zero else zero
    if order is not None:
        tensors["weight_g_idx"] = order
        column = order.long()
        values = codes.float() - (0 if zero is None else zero.float()[:, column])
        return tensors, values * s.float()[:, column]
    return tensors, dequantize(codes, s.float(), zero)


def int_quantized(scale_shape):
    codes, s = integers(-128, 128, N, K), scales(*scale_shape, dtype=torch.bfloat16)
    return {"weight": codes, "weight_scale": s, "input_scale": scales(1)}, dequantize(codes, s.float())


def float_quantized(scale_shape):
    w, s = e4m3(N, K), scales(*scale_shape, dtype=torch.bfloat16)
    return {"weight": w, "weight_scale": s, "input_scale": scales(1)}, dequantize(w.float(), s.float())


def by_blocks(rows, columns, name, scale_dtype, out):
    w, s = e4m3(N, K), scales(-(-N // rows), -(-K // columns), dtype=scale_dtype)
    spread = s.float().repeat_interleave(rows, 0)[:N].repeat_interleave(columns, 1)[:, :K]
    return {"weight": w, name: s}, (w.float() * spread).to(out)


def main():
    order = torch.randperm(K, generator=RANDOM).div(G, rounding_mode="floor").int()
    cases = {
        "nf4": four_bits("nf4", torch.bfloat16, nested=False),
        "nf4_nested": four_bits("nf4", torch.float16, nested=True),
        "nf4_words": four_bits("nf4", torch.float32, nested=True, storage=torch.bfloat16),
        "fp4": four_bits("fp4", torch.float32, nested=False),
        "bnb_int8": eight_bits(),
        "packed_int4": packed(4, K // G, symmetric=True),
        "packed_int4_zeros": packed(4, K // G, symmetric=False),
        "packed_int4_bytes": packed(4, 1, symmetric=False, packed_zero=False, dtype=torch.bfloat16),
        "packed_int4_ordered": packed(4, K // G, symmetric=False, order=order),
        "packed_int8": packed(8, K // G, symmetric=True),
        "int8_rows": int_quantized((N, 1)),
        "int8_tensor": int_quantized((1,)),
        "float8_rows": float_quantized((N, 1)),
        "float8_tensor": float_quantized((1,)),
        "float8_blocks": by_blocks(16, 64, "weight_scale", torch.bfloat16, torch.bfloat16),
        "deepseek": by_blocks(16, 64, "weight_scale_inv", torch.float32, torch.bfloat16),
    }
    for name, (tensors, weight) in cases.items():
        file = {f"layer.{key}": value.contiguous() for key, value in tensors.items()}
        file["norm.weight"] = normal(K, dtype=torch.float16)
        save_file(file, HERE / f"{name}.safetensors")
        save_file({"weight": weight.float()}, HERE / f"{name}_unpacked.safetensors")


main()
