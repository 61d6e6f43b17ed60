"""Goldens of Jamba from transformers' JambaForCausalLM (its slow path).
python src/models/jamba/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import JambaConfig, JambaForCausalLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

SMALL = dict(vocab_size=57, hidden_size=24, intermediate_size=20, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2,
             attn_layer_period=3, attn_layer_offset=1, expert_layer_period=2, expert_layer_offset=1, num_experts=5, num_experts_per_tok=2,
             mamba_d_state=5, mamba_dt_rank=3, use_mamba_kernels=False)

recipe.case(HERE, "experts", JambaForCausalLM, JambaConfig(**SMALL), recipe.tokens(31, 57, 2), 256, cached=False)
recipe.case(HERE, "long", JambaForCausalLM, JambaConfig(**dict(SMALL, num_experts=1, num_experts_per_tok=1, hidden_size=20, mamba_d_state=16, mamba_d_conv=3, mamba_expand=3,
                                                               mamba_dt_rank="auto", mamba_proj_bias=True, mamba_conv_bias=False, tie_word_embeddings=True)),
            recipe.tokens(1100, 57), 8, 50, cached=False)
recipe.perturbed(HERE, JambaForCausalLM, JambaConfig, SMALL, recipe.tokens(12, 57, 3), {
    "attn_layer_period": [2, 4], "attn_layer_offset": [0, 2], "expert_layer_period": [3], "expert_layer_offset": [0], "num_experts": [2],
    "num_experts_per_tok": [1, 5], "mamba_d_state": [3], "mamba_d_conv": [2, 5], "mamba_expand": [1, 3], "mamba_dt_rank": ["auto", 7],
    "mamba_conv_bias": [False], "mamba_proj_bias": [True], "hidden_act": ["gelu"], "rms_norm_eps": [0.1], "intermediate_size": [12],
    "num_key_value_heads": [1, 4], "num_hidden_layers": [3], "tie_word_embeddings": [True], "num_logits_to_keep": [5], "output_router_logits": [True],
})
