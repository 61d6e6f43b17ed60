"""Goldens of Mamba from transformers' MambaForCausalLM and FalconMambaForCausalLM (their slow path).
python src/models/mamba/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import FalconMambaConfig, FalconMambaForCausalLM, MambaConfig, MambaForCausalLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

SMALL = dict(vocab_size=57, hidden_size=24, state_size=5, num_hidden_layers=3, expand=2, conv_kernel=4, time_step_rank=3)

recipe.case(HERE, "tied", MambaForCausalLM, MambaConfig(**SMALL), recipe.tokens(31, 57), 256, cached=False)
recipe.case(HERE, "long", MambaForCausalLM, MambaConfig(**dict(SMALL, state_size=16, conv_kernel=3, expand=3, hidden_size=20, time_step_rank="auto", use_bias=True,
                                                               use_conv_bias=False, tie_word_embeddings=False)),
            recipe.tokens(1100, 57), 8, 50, cached=False)
recipe.case(HERE, "falcon", FalconMambaForCausalLM, FalconMambaConfig(**dict(SMALL, tie_word_embeddings=False)), recipe.tokens(31, 57), 16, cached=False)

CHANGES = {
    "hidden_size": [20], "state_size": [3], "num_hidden_layers": [1], "expand": [1, 3], "conv_kernel": [2, 5], "time_step_rank": ["auto", 7],
    "use_bias": [True], "use_conv_bias": [False], "hidden_act": ["gelu", "relu"], "layer_norm_epsilon": [0.1], "residual_in_fp32": [False],
    "time_step_scale": [2.0], "time_step_min": [0.1], "time_step_max": [0.5], "time_step_floor": [0.1], "time_step_init_scheme": ["constant"],
    "rescale_prenorm_residual": [True], "tie_word_embeddings": [False], "initializer_range": [0.5],
}
recipe.perturbed(HERE, MambaForCausalLM, MambaConfig, SMALL, recipe.tokens(12, 57, 3), CHANGES, drop=("intermediate_size",))
recipe.perturbed(HERE, FalconMambaForCausalLM, FalconMambaConfig, SMALL, recipe.tokens(12, 57, 3),
                 {"mixer_rms_eps": [0.1], "layer_norm_epsilon": [0.1], "conv_kernel": [2]}, "falcon_perturbed", drop=("intermediate_size",))
