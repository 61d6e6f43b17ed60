"""Goldens of Qwen 3 from transformers' Qwen3ForCausalLM.
python src/models/qwen3/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import Qwen3Config, Qwen3ForCausalLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

SMALL = dict(vocab_size=59, hidden_size=20, intermediate_size=36, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2, head_dim=8,
             max_position_embeddings=512, rope_theta=1000.0)

recipe.case(HERE, "normed", Qwen3ForCausalLM, Qwen3Config(**SMALL), recipe.tokens(31, 59), 256)
recipe.case(HERE, "tied", Qwen3ForCausalLM, Qwen3Config(**dict(SMALL, tie_word_embeddings=True, attention_bias=True, num_hidden_layers=1)), recipe.tokens(20, 59), 16)

recipe.perturbed(HERE, Qwen3ForCausalLM, Qwen3Config, dict(SMALL, num_hidden_layers=2), recipe.tokens(12, 59, 3), {
    "head_dim": [4, 10], "attention_bias": [True], "use_sliding_window": [True], "sliding_window": [3], "max_window_layers": [1],
    "num_key_value_heads": [1, 3], "hidden_act": ["gelu"], "rms_norm_eps": [0.1], "rope_theta": [100.0], "tie_word_embeddings": [True],
    "rope_scaling": [dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=8)],
})
