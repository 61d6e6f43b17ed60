"""Golden values of the ops from PyTorch in f64, inputs rounded to f32. Run from anywhere: python make.py

Every tensor is stored channels last, as hearth holds it; weights in checkpoint layout.
"""
import pathlib

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

torch.manual_seed(7)
tensors = {}


def randn(name, *shape, scale=1.0):
    x = (torch.randn(*shape, dtype=torch.float64) * scale).float()
    tensors[name] = x.contiguous()
    return x.double()


def put(name, y):
    tensors[name] = y.float().contiguous()


def nchw(x):
    return x.permute(0, 3, 1, 2)


def nhwc(x):
    return x.permute(0, 2, 3, 1)


# linear with every part of the epilogue
x, w, b = randn("linear.x", 2, 5, 7), randn("linear.w", 9, 7), randn("linear.b", 9)
per_image, residual = randn("linear.per_image", 2, 9), randn("linear.residual", 2, 5, 9)
put("linear.plain", F.linear(x, w))
put("linear.bias", F.linear(x, w, b))
put("linear.full", F.silu(0.5 * F.linear(x, w) + b + per_image[:, None]) + residual)

# convolutions: same, stride 2 padded right and bottom, 1×1, resized by nearest neighbour to an odd size
x, w, b = randn("conv.x", 2, 6, 5, 3), randn("conv.w", 4, 3, 3, 3), randn("conv.b", 4)
per_image, residual = randn("conv.per_image", 2, 4), randn("conv.residual", 2, 6, 5, 4)
put("conv.same", nhwc(F.conv2d(nchw(x), w, b, padding=1)))
put("conv.full", nhwc(F.silu(F.conv2d(nchw(x), w, b, padding=1) + per_image[:, :, None, None])) + residual)
put("conv.down", nhwc(F.conv2d(F.pad(nchw(x), (0, 1, 0, 1)), w, b, stride=2)))
put("conv.stride3", nhwc(F.conv2d(nchw(x), w, None, stride=3, padding=2)))
put("conv.point", nhwc(F.conv2d(nchw(x), w[:, :, :1, :1], b)))
put("conv.resized", nhwc(F.conv2d(F.interpolate(nchw(x).float(), size=(11, 13), mode="nearest").double(), w, b, padding=1)))
put("resize.up", nhwc(F.interpolate(nchw(x).float(), size=(11, 13), mode="nearest")))
put("resize.down", nhwc(F.interpolate(nchw(x).float(), size=(4, 3), mode="nearest")))

# attention, T = 6 queries; S = 6 causal, S = 9 across
q, k, v = randn("attention.q", 2, 6, 3, 5), randn("attention.k", 2, 6, 3, 5), randn("attention.v", 2, 6, 3, 5)
ck, cv = randn("attention.ck", 2, 9, 3, 5), randn("attention.cv", 2, 9, 3, 5)
heads = lambda t: t.transpose(1, 2)
put("attention.causal", heads(F.scaled_dot_product_attention(heads(q), heads(k), heads(v), is_causal=True, scale=0.3)))
put("attention.cross", heads(F.scaled_dot_product_attention(heads(q), heads(ck), heads(cv), scale=1.7)))

# norms; the mean is large against the deviation (a one-pass variance fails)
x, gamma, beta = randn("norm.x", 2, 4, 3, 6) + 300, randn("norm.gamma", 6), randn("norm.beta", 6)
tensors["norm.x"] = x.float()
x = tensors["norm.x"].double()
put("norm.group", nhwc(F.group_norm(nchw(x), 3, gamma, beta, 1e-5)))
put("norm.group_silu", nhwc(F.silu(F.group_norm(nchw(x), 2, gamma, beta, 1e-6))))
put("norm.layer", F.layer_norm(x, (6,), gamma, beta, 1e-5))

# pointwise
x = randn("point.x", 64, scale=4.0)
put("point.silu", F.silu(x))
put("point.gelu", F.gelu(x))
put("point.gelu_tanh", F.gelu(x, approximate="tanh"))
put("point.quick_gelu", x * torch.sigmoid(1.702 * x))
put("point.relu", F.relu(x))
g = randn("geglu.x", 3, 10)
value, gate = g.chunk(2, dim=-1)
put("geglu.y", value * F.gelu(gate))

# gated linear units: the value half first, then the gate
x, w, b = randn("glu.x", 2, 4, 7), randn("glu.w", 10, 7), randn("glu.b", 10)
per_image, residual = randn("glu.per_image", 2, 10), randn("glu.residual", 2, 4, 5)
value, gate = F.linear(x, w, b).chunk(2, dim=-1)
put("glu.gelu", value * F.gelu(gate))
value, gate = (0.5 * F.linear(x, w) + b + per_image[:, None]).chunk(2, dim=-1)
put("glu.full", value * F.silu(gate) + residual)

# the gate of an adaptive norm: residual + gate · (…)
x, w, b = randn("gate.x", 2, 5, 7), randn("gate.w", 9, 7), randn("gate.b", 9)
gate, residual = randn("gate.gate", 2, 9), randn("gate.residual", 2, 5, 9)
put("gate.linear", residual + gate[:, None] * F.gelu(F.linear(x, w, b)))
put("gate.alone", gate[:, None] * F.linear(x, w, b))

# root mean square norm (Zhang & Sennrich 2019)
x, gamma = randn("rms.x", 3, 2, 37, scale=5.0), randn("rms.gamma", 37)
put("rms.y", F.rms_norm(x, (37,), gamma, 1e-6))
put("rms.plain", F.rms_norm(x, (37,), None, 0.5))

save_file(tensors, pathlib.Path(__file__).parent / "ops.safetensors", {"made_with": f"torch {torch.__version__}"})
