"""Goldens of RWKV-6 from the authors' package rwkv (RWKV), without compiled kernels: network.py.
python src/models/rwkv6/golden/make.py

Made with torch 2.15.0, rwkv 0.8.32.
"""
from pathlib import Path

from network import authors, network, shapes

recipe = authors.recipe
net = authors.Recipe(Path(__file__).parent, network, shapes)

SMALL = dict(model_type="rwkv6", model_version="6_0", vocab_size=57, hidden_size=24, num_hidden_layers=3, head_size=6, head_size_divisor=8,
             intermediate_size=40, attention_hidden_size=24, num_attention_heads=64, layer_norm_epsilon=1e-5, rescale_every=6, context_length=512,
             tie_word_embeddings=False, use_cache=True, time_mix_extra_dim=5, time_decay_extra_dim=7)

net.case("small", SMALL, recipe.tokens(31, 57), 256)
net.case("long", dict(SMALL, num_hidden_layers=2), recipe.tokens(1100, 57, 5), 8, 50)
net.perturbed(dict(SMALL, num_hidden_layers=2), recipe.tokens(12, 57, 3), {
    "vocab_size": [70], "num_hidden_layers": [1, 3], "head_size": [4, 24], "head_size_divisor": [4], "intermediate_size": [20, None],
    "layer_norm_epsilon": [0.01], "tie_word_embeddings": [True], "time_mix_extra_dim": [2], "time_decay_extra_dim": [3], "rescale_every": [0],
    "num_attention_heads": [4], "context_length": [64],
})
