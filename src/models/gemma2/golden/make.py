"""Goldens of Gemma 2 from transformers' Gemma2ForCausalLM.
python src/models/gemma2/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import Gemma2Config, Gemma2ForCausalLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

SMALL = dict(vocab_size=57, hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=10,
             query_pre_attn_scalar=7, max_position_embeddings=512, rope_theta=1000.0, sliding_window=7, attn_logit_softcapping=2.0,
             final_logit_softcapping=3.0)

recipe.case(HERE, "alternating", Gemma2ForCausalLM, Gemma2Config(**SMALL), recipe.tokens(31, 57), 256)
recipe.case(HERE, "long", Gemma2ForCausalLM, Gemma2Config(**dict(SMALL, num_hidden_layers=2, max_position_embeddings=2048, sliding_window=600)),
            recipe.tokens(1300, 57, 5), 8, 50)

recipe.perturbed(HERE, Gemma2ForCausalLM, Gemma2Config, dict(SMALL, num_hidden_layers=2), recipe.tokens(12, 57, 3), {
    "vocab_size": [70], "hidden_size": [20], "intermediate_size": [20], "num_hidden_layers": [1, 3], "num_attention_heads": [2], "num_key_value_heads": [1, 4],
    "head_dim": [8], "hidden_activation": ["gelu", "silu"], "rms_norm_eps": [0.1], "tie_word_embeddings": [False], "rope_theta": [100.0],
    "max_position_embeddings": [128], "attention_bias": [True], "query_pre_attn_scalar": [256], "sliding_window": [3, 12],
    "layer_types": [["full_attention", "sliding_attention"], ["full_attention", "full_attention"]],
    "attn_logit_softcapping": [0.5, None], "final_logit_softcapping": [1.0, None], "attention_dropout": [0.5], "use_cache": [False],
})
