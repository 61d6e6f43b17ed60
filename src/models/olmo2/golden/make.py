"""Goldens of OLMo 2 from transformers' Olmo2ForCausalLM.
python src/models/olmo2/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import Olmo2Config, Olmo2ForCausalLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

SMALL = dict(vocab_size=57, hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
             max_position_embeddings=512, rope_theta=1000.0, pad_token_id=0, eos_token_id=2)

recipe.case(HERE, "normed", Olmo2ForCausalLM, Olmo2Config(**SMALL), recipe.tokens(31, 57), 256)
recipe.case(HERE, "long", Olmo2ForCausalLM, Olmo2Config(**dict(SMALL, max_position_embeddings=2048)), recipe.tokens(1100, 57, 5), 8, 50)

recipe.perturbed(HERE, Olmo2ForCausalLM, Olmo2Config, dict(SMALL, num_hidden_layers=2), recipe.tokens(12, 57, 3), {
    "attention_bias": [True], "num_key_value_heads": [1, 6, None], "hidden_act": ["gelu"], "rms_norm_eps": [0.1], "rope_theta": [100.0],
    "tie_word_embeddings": [True], "rope_scaling": [dict(type="linear", factor=2.0)],
})
