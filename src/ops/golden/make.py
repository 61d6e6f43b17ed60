"""Golden values of the ops from PyTorch in f64, inputs rounded to f32. Run from anywhere: python make.py

Every tensor is stored channels last, as hearth holds it; weights in checkpoint layout.
"""
import math
import pathlib

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

tensors = {}


def begin(seed):
    torch.manual_seed(seed)
    tensors.clear()


def save(name):
    save_file(tensors, pathlib.Path(__file__).parent / f"{name}.safetensors", {"made_with": f"torch {torch.__version__}"})


begin(7)


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

save("ops")

# --- attention ------------------------------------------------------------------------------------------------------
# Written out in f64, as F.scaled_dot_product_attention has neither soft cap nor sinks; where it has what is asked for, it agrees.
begin(8)


def attend(q, k, v, scale, seen=None, bias=None, soft_cap=0, sinks=None):
    """q [B, T, N, D], k [B, S, G, D], v [B, S, G, Dv]; seen: True where a query sees a key, for [B, N, T, S]."""
    N, G = q.shape[2], k.shape[2]
    q, k, v = (heads(t) for t in (q, k.repeat_interleave(N // G, 2), v.repeat_interleave(N // G, 2)))
    scores = scale * q @ k.transpose(2, 3)
    if soft_cap:
        scores = soft_cap * torch.tanh(scores / soft_cap)
    if bias is not None:
        scores = scores + bias
    if seen is not None:
        scores = scores.masked_fill(~seen, -math.inf)
    if sinks is not None:  # as gpt-oss has them: a column that takes its share of the softmax and is then left out
        scores = torch.cat([scores, sinks[None, :, None, None].expand(*scores.shape[:3], 1)], dim=3)
    weights = torch.softmax(scores, dim=3).nan_to_num()  # a query that sees nothing gets nothing
    return heads(weights[..., : v.shape[2]] @ v)


q, k, v = randn("q", 2, 7, 6, 5), randn("k", 2, 9, 2, 5), randn("v", 2, 9, 2, 3)
sinks = randn("sinks", 6, scale=2.0)
bias = torch.randn(2, 6, 7, 9, dtype=torch.float64)
bias = bias.masked_fill(torch.rand(2, 6, 7, 9) < 0.3, -math.inf)
bias[1, 2, 3] = -math.inf
put("bias", bias)
bias = tensors["bias"].double()
key_bias, head_bias = randn("key_bias", 2, 1, 1, 9, scale=3.0), randn("head_bias", 1, 6, 7, 9, scale=3.0)
T, S = torch.arange(7)[:, None], torch.arange(9)[None]
lengths = S < torch.tensor([9, 4])[:, None, None, None]
near = (T - S).abs() < 3
put("grouped", attend(q, k, v, 0.3))
put("bias.y", attend(q, k, v, 0.3, bias=bias))
put("key_bias.y", attend(q, k, v, 0.3, bias=key_bias))
put("head_bias.y", attend(q, k, v, 0.3, bias=head_bias))
put("lengths", attend(q, k, v, 0.3, seen=lengths))
put("window", attend(q, k, v, 0.3, seen=near))
put("soft_cap", attend(q, k, v, 1.7, soft_cap=2.5))
put("sinks.y", attend(q, k, v, 0.3, sinks=sinks))
put("all", attend(q, k, v, 1.7, seen=near & lengths, bias=bias, soft_cap=2.5, sinks=sinks))
k, v = k[:, :7], v[:, :7]
S = S[:, :7]
put("causal_window", attend(q, k, v, 0.3, seen=(S <= T) & (T - S < 3)))
put("causal_lengths", attend(q, k, v, 0.3, seen=(S <= T) & lengths[..., :7]))
for name, options in (("grouped", {}), ("bias.y", {"attn_mask": bias}), ("lengths", {"attn_mask": lengths}), ("window", {"attn_mask": near})):
    k, v = tensors["k"].double(), tensors["v"].double()
    y = heads(F.scaled_dot_product_attention(heads(q), heads(k), heads(v), scale=0.3, enable_gqa=True, **options))
    assert (y.nan_to_num() - tensors[name]).abs().max() < 1e-6, name

# Attention to a cache: 4 queries at the positions 6 … 9; without a window in 11 rows, with one of 3 in a ring of 7, where position p
# lies in row p mod 7.
q, k, v = randn("cached.q", 4, 6, 5), randn("cached.k", 11, 2, 5), randn("cached.v", 11, 2, 3)
T, S = torch.arange(6, 10)[:, None], torch.arange(11)[None]
for name, tensor in (("cached.ring_k", k), ("cached.ring_v", v)):
    ring = torch.full((7, *tensor.shape[1:]), math.nan, dtype=torch.float64)
    for p in range(4, 10):
        ring[p % 7] = tensor[p]
    put(name, ring)
put("cached.all", attend(q[None], k[None], v[None], 1.7, seen=S <= T, soft_cap=2.5, sinks=sinks)[0])
put("cached.window", attend(q[None], k[None], v[None], 1.7, seen=(S <= T) & (T - S < 3), soft_cap=2.5, sinks=sinks)[0])
save("attention")

# --- convolution ----------------------------------------------------------------------------------------------------
begin(9)


def first(x):
    return x.movedim(-1, 1)


def last(x):
    return x.movedim(1, -1)


def conv(name, x, w, b, pad=(), mode="constant", **options):
    """`pad` as F.pad has it, the last axis first."""
    function = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[w.dim()]
    put(name, last(function(F.pad(first(x), pad, mode=mode) if pad else first(x), w, b, **options)))


def transposed(name, x, w, b, **options):
    function = {3: F.conv_transpose1d, 4: F.conv_transpose2d, 5: F.conv_transpose3d}[w.dim()]
    put(name, last(function(first(x), w, b, **options)))


x, w, b = randn("line.x", 2, 11, 6), randn("line.w", 4, 6, 3), randn("line.b", 4)
pairs, each = randn("line.pairs", 4, 3, 3), randn("line.each", 6, 1, 4)
conv("line.plain", x, w, b)
conv("line.far", x, w, b, (3, 1), stride=2, dilation=2)
conv("line.nearest", x, w, b, (2, 3), "replicate")
conv("line.grouped", x, pairs, b, (1, 1), groups=2)
conv("line.causal", x, each, None, (3, 0), groups=6)  # Mamba's

x, w, b = randn("plane.x", 2, 7, 5, 6), randn("plane.w", 9, 2, 3, 2), randn("plane.b", 9)
each, whole = randn("plane.each", 12, 1, 3, 3), randn("plane.whole", 4, 6, 3, 3)
conv("plane.grouped", x, w, b, (1, 0, 2, 1), stride=(2, 1), dilation=(1, 2), groups=3)
conv("plane.each_y", x, each, None, (1, 1, 1, 1), groups=6)
conv("plane.nearest", x, whole, None, (1, 2, 0, 1), "replicate")
conv("plane.nearest_far", x, whole, None, (6, 7, 8, 9), "replicate", stride=3, dilation=2)

x, w, b = randn("space.x", 2, 5, 4, 6, 4), randn("space.w", 3, 4, 3, 3, 2), randn("space.b", 3)
halves = randn("space.halves", 6, 2, 2, 1, 3)
per_image, residual = randn("space.per_image", 2, 3), randn("space.residual", 2, 5, 4, 6, 3)
conv("space.plain", x, w, b)
conv("space.causal", x, w, b, (1, 0, 1, 1, 2, 0))
conv("space.causal_nearest", x, w, b, (1, 0, 1, 1, 2, 0), "replicate")
conv("space.far", x, w, None, (1, 1, 2, 1, 0, 1), stride=(2, 1, 3), dilation=(1, 2, 1))
conv("space.grouped", x, halves, None, (1, 1, 0, 0, 1, 0), groups=2)
y = F.conv3d(F.pad(F.pad(first(x), (0, 0, 0, 0, 2, 0), mode="replicate"), (1, 0, 1, 1)), w, b)
put("space.full", last(F.silu(y + per_image[:, :, None, None, None])) + residual)

x, w, b = randn("line_up.x", 2, 5, 6), randn("line_up.w", 6, 4, 8), randn("line_up.b", 4)
transposed("line_up.plain", x, w, b)
transposed("line_up.wide", x, w, b, stride=4, padding=2, output_padding=1)
transposed("line_up.grouped", x, w, None, stride=3, padding=1, dilation=2, groups=2)  # 8 channels
x, w = randn("plane_up.x", 2, 4, 3, 6), randn("plane_up.w", 6, 2, 3, 2)
transposed("plane_up.y", x, w, None, stride=(2, 3), padding=(1, 0), output_padding=(1, 2), dilation=(2, 1), groups=3)
x, w = randn("space_up.x", 1, 3, 2, 4, 4), randn("space_up.w", 4, 3, 3, 2, 3)
transposed("space_up.y", x, w, None, stride=(1, 2, 2), padding=(1, 0, 1), output_padding=(0, 1, 1))
save("conv")

# --- norms with scale and shift -------------------------------------------------------------------------------------
begin(10)
x, gamma, beta = randn("x", 2, 3, 5, 12, scale=3.0), randn("gamma", 12), randn("beta", 12)
modulation = randn("modulation", 2, 36)  # scale, shift and a gate, of an image each
rows = randn("rows", 30, 24)
scale, shift = (t[:, None, None] for t in modulation[:, :24].chunk(2, dim=1))
row_scale, row_shift = (t.reshape(2, 3, 5, 12) for t in rows.chunk(2, dim=1))
layer = F.layer_norm(x, (12,), None, None, 1e-6)
put("layer.plain", layer)
put("layer.image", layer * (1 + scale) + shift)
put("layer.rows", F.layer_norm(x, (12,), gamma, beta, 1e-6) * (1 + row_scale) + row_shift)
root = F.rms_norm(x, (12,), None, 1e-5)
put("rms.image", root * (1 + scale))
put("rms.rows", root * gamma * (1 + row_scale) + row_shift)
put("group.plain", last(F.group_norm(first(x), 3, None, None, 1e-5)))
put("group.image", last(F.silu(F.group_norm(first(x), 4, gamma, beta, 1e-5) * (1 + first(scale)) + first(shift))))
save("norm")

# --- pointwise functions --------------------------------------------------------------------------------------------
begin(11)
x = randn("x", 64, scale=8.0)
put("sigmoid", torch.sigmoid(x))
put("tanh", torch.tanh(x))
put("softplus", F.softplus(x, threshold=1000))
put("squared_relu", F.relu(x) ** 2)
save("pointwise")

# --- pooling --------------------------------------------------------------------------------------------------------
begin(12)
line, plane, space = randn("line.x", 2, 9, 3), randn("plane.x", 2, 7, 6, 3), randn("space.x", 1, 5, 6, 4, 3)
put("line.average", last(F.avg_pool1d(first(line), 3, 2, 1)))
put("line.largest", last(F.max_pool1d(first(line), 4, 3, 2)))
put("plane.average", last(F.avg_pool2d(first(plane), (2, 3), (1, 2), (1, 0))))
put("plane.largest", last(F.max_pool2d(first(plane), (3, 2), (2, 1), (1, 1))))
put("space.average", last(F.avg_pool3d(first(space), (2, 3, 2), (2, 1, 2), (0, 1, 1))))
put("space.largest", last(F.max_pool3d(first(space), (3, 2, 1), (1, 2, 3), (1, 1, 0))))
save("pool")

# --- rows by their numbers ------------------------------------------------------------------------------------------
begin(13)
x = randn("top_k.x", 3, 17)
values, columns = torch.topk(x, 5)
put("top_k.values", values)
tensors["top_k.columns"] = columns.int()
base, x, factors = randn("scatter.base", 5, 7), randn("scatter.x", 8, 7), randn("scatter.factors", 8)
rows = torch.tensor([4, 0, 0, 3, 4, 4, 1, 0])
tensors["scatter.rows"] = rows.int()
put("scatter.plain", base.index_add(0, rows, x))
put("scatter.weighted", base.index_add(0, rows, x * factors[:, None]))
put("gather.y", base.index_select(0, rows))
save("select")

# --- rotary embedding, by complex numbers (neighbours) and by rotate_half (halves) -----------------------------------
begin(14)
x = randn("x", 2, 5, 3, 10)
angles = randn("angles", 2, 5, 3, 4, scale=3.0)


def table(name, a):
    """Cosines and sines for [B, T, N, R/2], rounded to f32, as f64."""
    put(name, torch.stack([torch.cos(a), torch.sin(a)], dim=3))
    return tensors[name].double().unbind(3)


def neighbours(x, cosine, sine):
    R = 2 * cosine.shape[-1]
    turned = torch.view_as_complex(x[..., :R].reshape(*x.shape[:-1], -1, 2).contiguous()) * torch.complex(cosine, sine)
    return torch.cat([torch.view_as_real(turned).flatten(-2), x[..., R:]], dim=-1)


def halves(x, cosine, sine):
    R = 2 * cosine.shape[-1]
    turned, rest = x[..., :R], x[..., R:]
    half = torch.cat([-turned[..., R // 2 :], turned[..., : R // 2]], dim=-1)
    return torch.cat([turned * torch.cat([cosine, cosine], dim=-1) + half * torch.cat([sine, sine], dim=-1), rest], dim=-1)


for name, a in (("shared", angles[:1, :, :1]), ("images", angles[:, :, :1]), ("heads", angles[:1]), ("all", angles)):
    cosine, sine = table(f"{name}.table", a)
    put(f"{name}.neighbours", neighbours(x, cosine, sine))
    put(f"{name}.halves", halves(x, cosine, sine))
save("rope")
