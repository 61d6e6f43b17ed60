"""Goldens of GLM-4-0414 from transformers' Glm4ForCausalLM.
python src/models/glm4/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import Glm4Config, Glm4ForCausalLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

SMALL = dict(vocab_size=57, hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2, head_dim=8,
             max_position_embeddings=512, rope_theta=1000.0, pad_token_id=0, eos_token_id=2)

recipe.case(HERE, "partial", Glm4ForCausalLM, Glm4Config(**SMALL), recipe.tokens(31, 57), 256)
recipe.case(HERE, "long", Glm4ForCausalLM, Glm4Config(**dict(SMALL, max_position_embeddings=2048)), recipe.tokens(1100, 57, 5), 8, 50)

recipe.perturbed(HERE, Glm4ForCausalLM, Glm4Config, dict(SMALL, num_hidden_layers=2), recipe.tokens(12, 57, 3), {
    "attention_bias": [False], "partial_rotary_factor": [0.25, 1.0], "head_dim": [12], "rms_norm_eps": [0.1], "num_key_value_heads": [1, 6],
    "hidden_act": ["gelu"], "rope_theta": [100.0], "tie_word_embeddings": [True],
})
