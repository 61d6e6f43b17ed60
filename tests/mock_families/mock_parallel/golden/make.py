"""Logits, greedy tokens and perplexity of the mock network, from NumPy in f64; weights by name. Writes golden/tiny.json."""
import json
import math
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[4] / "tools"))
import name_weights  # noqa: E402

CONFIG = {
    "architectures": ["MockParallelForCausalLM"],
    "model_type": "mock_parallel",
    "vocab_size": 512,
    "n_positions": 48,
    "n_embd": 32,
    "n_inner": 72,
    "n_layer": 3,
    "n_head": 4,
    "norm_epsilon": 1e-5,
    "use_parallel_residual": True,
}
# "The lighthouse stood on the rock." in the demo language model's tokenizer, behind its beginning-of-text token.
TEXT = [508, 425, 301, 342, 320, 289, 259, 464, 356, 13]


def weight(name, *shape):
    return name_weights.tensor(name, shape).astype(np.float64)


def linear(x, name, out):
    return x @ weight(name + ".weight", out, x.shape[-1]).T + weight(name + ".bias", out)


def layer_norm(x, name):
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + CONFIG["norm_epsilon"])
    return scaled * weight(name + ".weight", x.shape[-1]) + weight(name + ".bias", x.shape[-1])


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(h, name):
    tokens, width = h.shape
    heads = CONFIG["n_head"]
    q, k, v = (linear(h, f"{name}.{part}", width).reshape(tokens, heads, -1).transpose(1, 0, 2) for part in ("query", "key", "value"))
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(width // heads)
    scores = np.where(np.tril(np.ones((tokens, tokens), bool)), scores, -np.inf)
    return linear((softmax(scores) @ v).transpose(1, 0, 2).reshape(tokens, width), f"{name}.dense", width)


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def logits(ids):
    width = CONFIG["n_embd"]
    x = weight("words.weight", CONFIG["vocab_size"], width)[ids] + weight("places.weight", CONFIG["n_positions"], width)[: len(ids)]
    for i in range(CONFIG["n_layer"]):
        h = layer_norm(x, f"blocks.{i}.norm")
        mlp = linear(gelu(linear(h, f"blocks.{i}.mlp.wide", CONFIG["n_inner"])), f"blocks.{i}.mlp.narrow", width)
        x = x + attention(h, f"blocks.{i}.attention") + mlp
    return layer_norm(x, "norm") @ weight("head.weight", CONFIG["vocab_size"], width).T


y = logits(TEXT)
greedy = list(TEXT)
for _ in range(12):
    greedy.append(int(logits(greedy)[-1].argmax()))
chances = softmax(y[:-1])[np.arange(len(TEXT) - 1), TEXT[1:]]
golden = {
    "config": CONFIG,
    "ids": TEXT,
    "logits": [float(f"{v:.7g}") for v in y[::3].ravel()],  # of every third token
    "greedy": greedy[len(TEXT) :],
    "perplexity": float(np.exp(-np.log(chances).mean())),
    "numpy": np.__version__,
}
(Path(__file__).parent / "tiny.json").write_text(json.dumps(golden) + "\n")
