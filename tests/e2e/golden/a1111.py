"""A1111 (1.10) in our own words, for make_peers.py and make_editing_peers.py: where its noise comes from, and the samplers that are not
k-diffusion's. Networks are functions answer(x, t) -> (negative, prompt), what the UNet says under each prompt.
"""

import math

import numpy as np
import torch
import torchsde._brownian.brownian_interval as brownian_interval


def nv_normals(seed, draw, shape):
    """Its "NV" source: the first normal of each thread of a graphics card, by Philox4x32-10."""
    from numpy import uint64 as u
    n, mask = math.prod(shape), u(0xFFFFFFFF)
    c, k = [np.full(n, draw, u), np.zeros(n, u), np.arange(n, dtype=u), np.zeros(n, u)], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = c[0] * u(0xD2511F53), c[2] * u(0xCD9E8D57)
        c = [(b >> u(32)) ^ c[1] ^ u(k[0]), b & mask, (a >> u(32)) ^ c[3] ^ u(k[1]), a & mask]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    x, y = c[0] * 2.0**-32 + 2.0**-33, (c[1] * 2.0**-32 + 2.0**-33) * float(np.float32(2 * math.pi))
    return torch.from_numpy((np.sqrt(-2 * np.log(x)) * np.sin(y)).astype(np.float32)).view(shape)


def draws(seed, shape, source="nv", ensd=0):
    """The first noise [n, …], and a function that gives that of the steps: image k has a generator of seed + k."""

    def generators(delta):
        seeds, state = [seed + k + delta for k in range(shape[0])], {"draw": 0}
        own = [torch.Generator().manual_seed(s) for s in seeds]

        def draw():
            number, state["draw"] = state["draw"], state["draw"] + 1
            if source == "cpu":
                return torch.stack([torch.randn(shape[1:], generator=g) for g in own])
            return torch.stack([nv_normals(s, number, shape[1:]) for s in seeds])

        return draw

    draw = generators(0)
    return draw(), generators(ensd) if ensd else draw


torchs_normals = brownian_interval._randn


def take_normals_of_trees(source):
    """torchsde's trees take the normals of their nodes from the same source as everything else."""
    nv = lambda size, dtype, device, seed: nv_normals(int(seed), 0, tuple(size)).to(dtype)  # noqa: E731
    brownian_interval._randn = nv if source == "nv" else torchs_normals


def timesteps(n):
    """Of DDIM, DDIM CFG++ and PLMS for n steps, rising."""
    return [min(k + 1, 999) for k in range(0, 1000, 1000 // n)]


def guided(pair, scale):
    negative, prompt = pair
    return negative + scale * (prompt - negative)


def by_times(sampler, answer, x, times, bars, scale, v=False, eta=0.0, later=None):
    """x at the last of the times down to the first; bars: ᾱ of every timestep, f64. eta: of DDIM, its own option "Eta for DDIM"."""

    def eps(x, t):
        pair = answer(x, torch.full((x.shape[0],), float(t)))
        return [bars[t].sqrt() * out + (1 - bars[t]).sqrt() * x for out in pair] if v else pair

    def moved(x, e, a, b, along=None):
        x0 = (x - (1 - bars[a]).sqrt() * e) / bars[a].sqrt()
        fresh = eta * ((1 - bars[b]) / (1 - bars[a]) * (1 - bars[a] / bars[b])).sqrt()
        x = bars[b].sqrt() * x0 + (1 - bars[b] - fresh**2).sqrt() * (e if along is None else along)
        return (x + fresh * later() if eta else x).float()

    known = []
    for a, b in zip(times[:0:-1], times[-2::-1]):
        if sampler == "ddim_cfg_pp":
            pair = eps(x, a)
            x = moved(x, guided(pair, scale / 12.5), a, b, along=pair[0])
            continue
        e = guided(eps(x, a), scale)
        if sampler == "ddim":
            x = moved(x, e, a, b)
            continue
        if not known:
            mean = (e + guided(eps(moved(x, e, a, b), b), scale)) / 2
        else:
            weights = {1: (3 / 2, -1 / 2), 2: (23 / 12, -16 / 12, 5 / 12), 3: (55 / 24, -59 / 24, 37 / 24, -9 / 24)}[len(known)]
            mean = sum(w * k for w, k in zip(weights, [e] + known))
        x, known = moved(x, mean, a, b), ([e] + known)[:3]
    return x


def uni_pc(answer, x, n, bars, scale, start=1.0, variant="bh1", order=3):
    """UniPC (Zhao et al. 2023) on estimates of x₀ at n + 1 even times from `start` to 0.001; entry k of the table is time (k + 1)/1000."""
    grid, logs = np.arange(1, 1001) / 1000, 0.5 * np.log(bars.numpy())

    def level(t):
        log_alpha = float(np.interp(t, grid, logs))
        sigma = math.sqrt(1 - math.exp(2 * log_alpha))
        return math.exp(log_alpha), sigma, log_alpha - math.log(sigma)

    def estimate(x, t):
        alpha, sigma, _ = level(t)
        time = torch.full((x.shape[0],), (t - 1e-3) * 1000)
        return (x - sigma * guided(answer(x, time), scale)) / alpha

    times = np.linspace(start, 1e-3, n + 1)
    known = [(level(times[0])[2], estimate(x, times[0]))]  # newest first
    for i in range(1, n + 1):
        p = min(order, i, n + 1 - i)
        (lam, m), (_, sigma_0, _), (alpha, sigma, lam_t) = known[0], level(times[i - 1]), level(times[i])
        h = lam_t - lam
        B = -h if variant == "bh1" else math.expm1(-h)
        r = np.array([(l - lam) / h for l, _ in known[1:p]] + [1.0])
        phi, sides = math.expm1(-h) / -h - 1, []
        for j in range(1, p + 1):
            sides.append(phi * math.factorial(j) / B)
            phi = phi / -h - 1 / math.factorial(j + 1)
        rows = np.array([r**j for j in range(p)])
        plain = sigma / sigma_0 * x - alpha * math.expm1(-h) * m
        slopes = [(known[k][1] - m) / r[k - 1] for k in range(1, p)]
        rho = [0.5] if p == 2 else list(np.linalg.solve(rows[:-1, :-1], sides[:-1])) if p > 2 else []
        x = plain - alpha * B * sum(a * d for a, d in zip(rho, slopes)) if rho else plain
        if i == n:
            return x
        there = estimate(x, times[i])
        rho = [0.5] if p == 1 else np.linalg.solve(rows, sides)
        x = plain - alpha * B * sum(a * d for a, d in zip(rho, slopes + [there - m]))
        known = [(lam_t, there)] + known[:2]


class Lcm:
    """Its LCM: σ of the timesteps 19, 39 … 999 alone, and x̂₀ mixed with x as the network was trained (σ_data = ½, timesteps times 10)."""

    def __init__(self, bars):
        kept = bars.float()[19::20]
        self.sigmas = ((1 - kept) / kept).sqrt()

    def levels(self, n):
        at = np.linspace(49, 0, n)
        return torch.tensor(np.exp(np.interp(at, np.arange(50), self.sigmas.log().numpy())).tolist() + [0.0])

    def run(self, answer, x, sigmas, scale, later):
        for sigma, next_sigma in zip(sigmas[:-1], sigmas[1:]):
            t = 20.0 * float((sigma.log() - self.sigmas.log()).abs().argmin()) + 19
            pair = answer(x / (sigma**2 + 1).sqrt(), torch.full((x.shape[0],), t))
            keep, take = 0.25 / (100 * t * t + 0.25), 10 * t / math.sqrt(100 * t * t + 0.25)
            x = guided([take * (x - sigma * e) + keep * x for e in pair], scale)
            if next_sigma > 0:
                x = x + next_sigma * later()
        return x
