#!/usr/bin/env python3
"""Goldens of the noise sources: numpy, torch, torchsde 0.2.6, k-diffusion 0.1.1, safetensors; writes noise_sources.safetensors.

nv|SEED|DRAW       A1111's Philox source, by its formula in numpy; elements 0 … 31 and every 1021st after
counter|SEED|...   hearth's own normals (tools/path_noise.py)
octave|SEED        hearth's own path (tools/path_noise.py): increments between the levels of octave|sigmas
indexed|SEED       torch normals of single images, one after the other
torchsde|...       k-diffusion's BrownianTreeNoiseSampler: levels (one row of pairs), then what it answers
seeds|...          numpy.random.SeedSequence
"""

import importlib.metadata
import math
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

sys.modules["clip"] = types.ModuleType("clip")  # imported for metrics that are not used here
import k_diffusion.sampling as kd  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "tools"))
from path_noise import counter, octave_path, philox  # noqa: E402

warnings.simplefilter("ignore")
torch.set_num_threads(1)


def nv(seed, draw, n):
    g = philox([draw, 0, np.arange(n), 0], seed)
    two_pi = float(np.float32(2 * math.pi))
    u, v = g[0] * 2.0**-32 + 2.0**-33, (g[1] * 2.0**-32 + 2.0**-33) * two_pi
    return (np.sqrt(-2 * np.log(u)) * np.sin(v)).astype(np.float32)


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
