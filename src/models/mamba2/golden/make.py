"""Goldens of Mamba-2 from transformers' Mamba2ForCausalLM with its norm corrected: network.py.
python src/models/mamba2/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from network import Network
from transformers import Mamba2Config

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

SMALL = dict(vocab_size=57, hidden_size=24, num_heads=6, head_dim=8, state_size=5, num_hidden_layers=3, expand=2, conv_kernel=4, n_groups=2, chunk_size=16)


def case(name, config, ids, *args, **kwargs):
    """Without time_step_limit where it is the default: its infinity is not JSON."""
    stated = recipe.config_json(recipe.network(Network, Mamba2Config(**config)))
    if stated["time_step_limit"][1] == float("inf"):
        del stated["time_step_limit"]
    recipe.case(HERE, name, Network, Mamba2Config(**config), ids, *args, json_config=stated, cached=False, **kwargs)


case("groups", SMALL, recipe.tokens(31, 57), 256)
case("limits", dict(SMALL, num_heads=4, head_dim=20, hidden_size=40, n_groups=1, time_step_limit=(0.6, 0.72), use_bias=True, use_conv_bias=False,
                    tie_word_embeddings=True), recipe.tokens(31, 57), 16)
case("long", dict(SMALL, state_size=16, conv_kernel=3, hidden_size=20, expand=3, num_heads=3, head_dim=20, n_groups=3, chunk_size=64),
     recipe.tokens(1100, 57), 8, 50)

recipe.perturbed(HERE, Network, Mamba2Config, SMALL, recipe.tokens(20, 57, 3), {
    "state_size": [3], "num_hidden_layers": [1], "conv_kernel": [2, 5], "n_groups": [1, 3], "use_bias": [True], "use_conv_bias": [False],
    "hidden_act": ["gelu"], "layer_norm_epsilon": [0.1], "time_step_limit": [[0.65, 0.7], [0.0, 0.7]], "time_step_rank": [9], "time_step_min": [0.1],
    "time_step_max": [0.5], "time_step_floor": [0.1], "chunk_size": [7, 64], "rescale_prenorm_residual": [True], "residual_in_fp32": [False],
    "tie_word_embeddings": [True],
}, drop=("time_step_limit",))
