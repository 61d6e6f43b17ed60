"""Goldens of Command R7B from transformers' Cohere2ForCausalLM.
python src/models/cohere2/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import Cohere2Config, Cohere2ForCausalLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

SMALL = dict(vocab_size=57, hidden_size=24, intermediate_size=40, num_hidden_layers=5, num_attention_heads=6, num_key_value_heads=2,
             max_position_embeddings=512, rope_theta=1000.0, logit_scale=0.5, sliding_window=7, pad_token_id=0, bos_token_id=1, eos_token_id=2)

recipe.case(HERE, "alternating", Cohere2ForCausalLM, Cohere2Config(**SMALL), recipe.tokens(31, 57), 256)
recipe.case(HERE, "long", Cohere2ForCausalLM, Cohere2Config(**dict(SMALL, max_position_embeddings=2048, sliding_window=600)), recipe.tokens(1100, 57, 5), 8, 50)

recipe.perturbed(HERE, Cohere2ForCausalLM, Cohere2Config, dict(SMALL, num_hidden_layers=2, layer_types=["sliding_attention", "full_attention"]),
                 recipe.tokens(12, 57, 3), {
    "logit_scale": [0.0625, 1.0], "attention_bias": [True], "layer_norm_eps": [0.1], "num_key_value_heads": [1, 6, None], "sliding_window": [3, 12],
    "layer_types": [["full_attention", "sliding_attention"], ["full_attention", "full_attention"]],
    "hidden_act": ["gelu"], "rope_theta": [100.0], "tie_word_embeddings": [False], "rope_scaling": [dict(rope_type="linear", factor=2.0)],
})
recipe.perturbed(HERE, Cohere2ForCausalLM, Cohere2Config, dict(SMALL, num_hidden_layers=4, sliding_window=3), recipe.tokens(12, 57, 3),
                 {"sliding_window_pattern": [2, 3]}, "pattern", drop=["layer_types"])
