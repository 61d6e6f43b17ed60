"""Goldens of Qwen 2 and 2.5 from transformers' Qwen2ForCausalLM.
python src/models/qwen2/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import Qwen2Config, Qwen2ForCausalLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

SMALL = dict(vocab_size=57, hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
             max_position_embeddings=512, rope_theta=1000.0)

recipe.case(HERE, "tied", Qwen2ForCausalLM, Qwen2Config(**dict(SMALL, tie_word_embeddings=True)), recipe.tokens(31, 57), 256)
recipe.case(HERE, "windowed", Qwen2ForCausalLM, Qwen2Config(**dict(SMALL, use_sliding_window=True, sliding_window=6, max_window_layers=1)), recipe.tokens(31, 57), 64)

recipe.perturbed(HERE, Qwen2ForCausalLM, Qwen2Config, dict(SMALL, num_hidden_layers=2, use_sliding_window=True, sliding_window=5, max_window_layers=1),
                 recipe.tokens(12, 57, 3), {
    "use_sliding_window": [False], "sliding_window": [3, 12], "max_window_layers": [0, 2, 28],
    "layer_types": [["sliding_attention", "full_attention"], ["full_attention", "full_attention"], ["sliding_attention", "sliding_attention"]],
    "num_key_value_heads": [1, 6], "hidden_act": ["gelu"], "rms_norm_eps": [0.1], "rope_theta": [100.0], "tie_word_embeddings": [True],
    "rope_scaling": [dict(type="yarn", factor=4.0, original_max_position_embeddings=8)],
})
