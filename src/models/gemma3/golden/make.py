"""Goldens of Gemma 3 (text) from transformers' Gemma3ForCausalLM.
python src/models/gemma3/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import Gemma3ForCausalLM, Gemma3TextConfig

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

SMALL = dict(vocab_size=57, hidden_size=24, intermediate_size=40, num_hidden_layers=7, num_attention_heads=4, num_key_value_heads=2, head_dim=10,
             query_pre_attn_scalar=7, max_position_embeddings=512, rope_theta=1000.0, rope_local_base_freq=50.0, sliding_window=7,
             rope_scaling=dict(rope_type="linear", factor=8.0))

recipe.case(HERE, "alternating", Gemma3ForCausalLM, Gemma3TextConfig(**SMALL), recipe.tokens(31, 57), 256,
            taps=lambda name: recipe.tapped(name) and name != "model.embed_tokens")  # which scales there
recipe.case(HERE, "long", Gemma3ForCausalLM, Gemma3TextConfig(**dict(SMALL, num_hidden_layers=2, max_position_embeddings=2048, sliding_window=600,
                                                                    layer_types=["sliding_attention", "full_attention"])),
            recipe.tokens(1300, 57, 5), 8, 50)

recipe.perturbed(HERE, Gemma3ForCausalLM, Gemma3TextConfig, dict(SMALL, num_hidden_layers=2, layer_types=["sliding_attention", "full_attention"]),
                 recipe.tokens(12, 57, 3), {
    "vocab_size": [70], "hidden_size": [20], "intermediate_size": [20], "num_attention_heads": [2], "num_key_value_heads": [1, 4],
    "head_dim": [8], "hidden_activation": ["gelu", "silu"], "rms_norm_eps": [0.1], "tie_word_embeddings": [False], "rope_theta": [100.0],
    "rope_local_base_freq": [1000.0], "max_position_embeddings": [128], "attention_bias": [True], "query_pre_attn_scalar": [256],
    "sliding_window": [3, 12], "layer_types": [["full_attention", "sliding_attention"], ["full_attention", "full_attention"]],
    "attn_logit_softcapping": [0.5], "final_logit_softcapping": [1.0], "attention_dropout": [0.5],
    "rope_scaling": [None, dict(rope_type="linear", factor=2.0), dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=8)],
})
# Without layer_types: every sliding_window_pattern-th layer sees everything.
recipe.perturbed(HERE, Gemma3ForCausalLM, Gemma3TextConfig, dict(SMALL, num_hidden_layers=3, sliding_window=3), recipe.tokens(12, 57, 3),
                 {"sliding_window_pattern": [2, 3]}, "pattern", drop=["layer_types"])
