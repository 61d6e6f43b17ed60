"""hearth's own noise in numpy: the normals of counter_normals.h and the Brownian path of brownian_tree.h, by their definitions in f64."""

import math

import numpy as np

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
    """(a, b) → W(b) − W(a) of n elements, for 0 < a < b."""

    def whole(e):
        return counter(seed, 0, e & 0xFFFFFFFF, 1, n) * math.sqrt(2.0**e)

    def inside(t):  # W(t) − W(2^floor(log2 t))
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
