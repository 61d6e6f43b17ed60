"""Linear layers packed as GPTQ and AWQ store them, random words, and what they mean, unpacked here value by value as their makers
describe it (AutoGPTQ 0.7 qlinear_cuda_old, gptq_v2, AutoAWQ GEMM): weight = scale · (code − zero).

    pip install numpy safetensors
    python golden/make.py
"""
import pathlib

import numpy as np
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).parent
K, N, G = 96, 16, 32
RANDOM = np.random.default_rng(3)
AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)


def words(*shape):
    return RANDOM.integers(-(2**31), 2**31, shape, dtype=np.int64).astype(np.int32)


def field(word, place):
    return (int(word) >> (4 * place)) & 15


def scales(groups):
    return (RANDOM.random((groups, N)) * 0.02 + 0.001).astype(np.float16)


def gptq(zero_of, order=None, symmetric=False):
    t = {"qweight": words(K // 8, N), "qzeros": words(K // G, N // 8), "scales": scales(K // G)}
    if symmetric:
        t["qzeros"][:] = 0x77777777
    group = np.arange(K) // G if order is None else order
    t["g_idx"] = group.astype(np.int32)
    w = np.zeros((N, K), np.float32)
    for n in range(N):
        for k in range(K):
            code = field(t["qweight"][k // 8, n], k % 8)
            zero = zero_of(field(t["qzeros"][group[k], n // 8], n % 8))
            w[n, k] = np.float32(t["scales"][group[k], n]) * np.float32(code - zero)
    return t, w


def awq():
    t = {"qweight": words(K, N // 8), "qzeros": words(K // G, N // 8), "scales": scales(K // G)}
    w = np.zeros((N, K), np.float32)
    for k in range(K):
        for c in range(N // 8):
            for i, column in enumerate(AWQ_ORDER):
                n = 8 * c + column
                code, zero = field(t["qweight"][k, c], i), field(t["qzeros"][k // G, c], i)
                w[n, k] = np.float32(t["scales"][k // G, n]) * np.float32(code - zero)
    return t, w


def main():
    cases = {
        "gptq": gptq(lambda z: (z + 1) & 15),
        "gptq_symmetric": gptq(lambda z: (z + 1) & 15, symmetric=True),
        "gptq_v2": gptq(lambda z: z),
        "gptq_act_order": gptq(lambda z: (z + 1) & 15, order=RANDOM.permutation(np.arange(K) // G)),
        "awq": awq(),
    }
    for name, (tensors, weight) in cases.items():
        file = {f"layer.{key}": value for key, value in tensors.items()}
        file["layer.bias"] = RANDOM.random(N).astype(np.float16)
        file["norm.weight"] = RANDOM.random(K).astype(np.float16)
        save_file(file, HERE / f"{name}.safetensors")
        save_file({"weight": weight}, HERE / f"{name}_unpacked.safetensors")


main()
