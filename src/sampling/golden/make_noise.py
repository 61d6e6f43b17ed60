#!/usr/bin/env python3
"""Goldens of the noise sources: numpy, torch, torchsde 0.2.6, k-diffusion 0.1.1, safetensors; writes noise_sources.safetensors.

nv|SEED|DRAW       A1111's Philox source, by its formula in numpy; elements 0 … 31 and every 1021st after
counter|SEED|...   hearth's own normals, by the definition of counter_normals.h in f64
octave|SEED        hearth's own path, by the definition of brownian_tree.h in f64: levels, then increments
indexed|SEED       torch normals of single images, one after the other
torchsde|...       k-diffusion's BrownianTreeNoiseSampler: levels (one row of pairs), then what it answers
seeds|...          numpy.random.SeedSequence
"""

import importlib.metadata
import math
import sys
import types
import warnings

import numpy as np
import torch
from safetensors.numpy import save_file

sys.modules["clip"] = types.ModuleType("clip")  # imported for metrics that are not used here
import k_diffusion.sampling as kd  # noqa: E402

warnings.simplefilter("ignore")
torch.set_num_threads(1)
M = np.uint64(0xFFFFFFFF)


def philox(counter, key):
    """Philox4x32-10 on arrays of 32-bit words held in 64 bits."""
    c = [np.asarray(w, dtype=np.uint64) for w in np.broadcast_arrays(*counter)]
    k = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(k[0]), b & M, (a >> np.uint64(32)) ^ c[3] ^ np.uint64(k[1]), a & M]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def nv(seed, draw, n):
    g = philox([draw, 0, np.arange(n), 0], seed)
    two_pi = float(np.float32(2 * math.pi))
    u, v = g[0] * 2.0**-32 + 2.0**-33, (g[1] * 2.0**-32 + 2.0**-33) * two_pi
    return (np.sqrt(-2 * np.log(u)) * np.sin(v)).astype(np.float32)


def counter(seed, low, high, stream, n):
    g = philox([np.arange((n + 3) // 4), low, high, stream], seed)
    pairs = []
    for a, b in ((g[0], g[1]), (g[2], g[3])):
        u = np.float32(np.float32(a) * np.float32(2.0**-32) + np.float32(2.0**-33)).astype(np.float64)
        angle = 2 * math.pi * (b >> np.uint64(8)) * 2.0**-24
        radius = np.sqrt(-2 * np.log(u))
        pairs += [radius * np.cos(angle), radius * np.sin(angle)]
    return np.stack(pairs, 1).reshape(-1)[:n]


def octave_path(seed, n):
    """t → W(t) − W(2^floor(log2 t)), and the whole increments of octaves."""

    def whole(e):
        return counter(seed, 0, e & 0xFFFFFFFF, 1, n) * math.sqrt(2.0**e)

    def inside(t):
        e = math.frexp(t)[1] - 1
        a, b, w, node, total = 2.0**e, 2.0 ** (e + 1), whole(e), 1, np.zeros(n)
        while t != a:
            m = (a + b) / 2
            left = w / 2 + math.sqrt((b - a) / 4) * counter(seed, node, e & 0xFFFFFFFF, 1, n)
            if t < m:
                b, w, node = m, left, 2 * node
            else:
                a, w, node, total = m, w - left, 2 * node + 1, total + left
        return total

    def between(a, b):
        ea, eb = math.frexp(a)[1] - 1, math.frexp(b)[1] - 1
        return sum((whole(e) for e in range(ea, eb)), inside(b) - inside(a))

    return between


out = {}
for seed in (0, 42, 2**40 + 3):
    for draw in (0, 1, 7):
        values = nv(seed, draw, 16384)
        out[f"nv|{seed}|{draw}"] = np.concatenate([values[:32], values[32::1021]])
for seed, low, high, n in ((0, 0, 0, 37), (2**40 + 3, 5, 2**31, 1003)):
    out[f"counter|{seed}|{low}|{high}|{n}"] = counter(seed, low, high, 0, n).astype(np.float32)
sigmas = [float(np.float32(s)) for s in (14.6146412293, 9.1, 9.0, 8.0, 5.5, 1.0, 0.7, 0.5, 0.2, 0.0291671582, 1e-3)]
for seed in (0, 2**40 + 3):
    path = octave_path(seed, 21)
    rows = [path(b, a) / -math.sqrt(a - b) for a, b in zip(sigmas, sigmas[1:])]
    out[f"octave|{seed}"] = np.stack(rows).astype(np.float32)
out["octave|sigmas"] = np.array(sigmas, dtype=np.float32)

for seed in (5, 2**33 + 1):
    g = torch.Generator().manual_seed(seed)
    out[f"indexed|{seed}"] = torch.cat([torch.randn((1, 4, 3, 5), generator=g) for _ in range(5)]).numpy()

for name, shape, seed, levels in (
    ("one", (2, 4, 3, 5), 42, kd.get_sigmas_karras(10, 0.0291671582, 14.6146412293)),
    ("each", (3, 4, 3, 5), [7, 8, 9], kd.get_sigmas_exponential(7, 0.0291671582, 14.6146412293)),
    ("large", (1, 4, 4, 4), [2**40 + 5], kd.get_sigmas_karras(5, 0.002, 700)),
):
    levels = levels[levels > 0]
    noise = kd.BrownianTreeNoiseSampler(torch.zeros(shape), levels.min(), levels.max(), seed=seed)
    pairs = list(zip(levels, levels[1:])) + [(levels[0], levels[2]), (levels[1], (levels[1] * levels[2]).sqrt()), (levels[3], levels[1]), (levels[0] * 1.5, levels[1])]
    out[f"torchsde|{name}|levels"] = torch.stack([torch.stack(p) for p in pairs]).numpy()
    out[f"torchsde|{name}|noise"] = torch.stack([noise(*p) for p in pairs]).numpy()

for entropy, key, pool, count in ((123, (), 24, 3), (42, (0, 0), 24, 4), (2**40 + 5, (3, 2), 24, 4), (2**64 - 1, (2**35 + 1, 30), 24, 4), (42, (5, 3), 8, 9)):
    words = np.random.SeedSequence(entropy=entropy, spawn_key=key, pool_size=pool).generate_state(count)
    out[f"seeds|{entropy}|{'/'.join(map(str, key))}|{pool}"] = np.array(sum(([int(w) & 0xFFFF, int(w) >> 16] for w in words), []), dtype=np.float32)

versions = {m: importlib.metadata.version(m) for m in ("numpy", "torch", "torchsde", "k-diffusion")}
save_file(out, "noise_sources.safetensors", versions)
print(len(out), "tensors")
