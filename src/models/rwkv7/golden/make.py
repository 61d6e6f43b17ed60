"""Goldens of RWKV-7 from the authors' package rwkv (RWKV_x070), without compiled kernels: network.py.
python src/models/rwkv7/golden/make.py

Made with torch 2.15.0, rwkv 0.8.32.
"""
from pathlib import Path

from network import authors, network, shapes

recipe = authors.recipe
net = authors.Recipe(Path(__file__).parent, network, shapes)

SMALL = dict(model_type="rwkv7", vocab_size=57, hidden_size=24, num_hidden_layers=3, head_dim=6, intermediate_size=40, decay_low_rank_dim=5,
             a_low_rank_dim=7, v_low_rank_dim=3, gate_low_rank_dim=9, norm_eps=1e-5, hidden_act="sqrelu", norm_first=True, norm_bias=True,
             hidden_ratio=4.0, max_position_embeddings=512, tie_word_embeddings=False, attn=None, fuse_norm=False, value_dim=None)

net.case("small", SMALL, recipe.tokens(31, 57), 256)
net.case("heads_of_64", dict(SMALL, hidden_size=128, head_dim=64, num_hidden_layers=2, intermediate_size=None), recipe.tokens(19, 57, 7), 64)
net.case("long", dict(SMALL, num_hidden_layers=2, max_position_embeddings=2048), recipe.tokens(1100, 57, 5), 8, 50)
net.perturbed(dict(SMALL, num_hidden_layers=2), recipe.tokens(12, 57, 3), {
    "vocab_size": [70], "hidden_size": [30], "num_hidden_layers": [1, 3], "head_dim": [4, 24], "intermediate_size": [20, None], "decay_low_rank_dim": [2],
    "a_low_rank_dim": [4], "v_low_rank_dim": [6], "gate_low_rank_dim": [3], "norm_eps": [0.01], "norm_first": [False], "norm_bias": [False], "tie_word_embeddings": [True],
    "max_position_embeddings": [64], "fuse_norm": [True],
})
