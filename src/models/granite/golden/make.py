"""Goldens of Granite from transformers' GraniteForCausalLM.
python src/models/granite/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import GraniteConfig, GraniteForCausalLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

SMALL = dict(vocab_size=57, hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
             max_position_embeddings=512, rope_theta=1000.0, embedding_multiplier=3.0, logits_scaling=0.3, residual_multiplier=0.4, attention_multiplier=0.3,
             attention_bias=True, mlp_bias=True)

recipe.case(HERE, "scaled", GraniteForCausalLM, GraniteConfig(**SMALL), recipe.tokens(31, 57), 256)
recipe.case(HERE, "long", GraniteForCausalLM, GraniteConfig(**dict(SMALL, max_position_embeddings=2048)), recipe.tokens(1100, 57, 5), 8, 50)

recipe.perturbed(HERE, GraniteForCausalLM, GraniteConfig, dict(SMALL, num_hidden_layers=2), recipe.tokens(12, 57, 3), {
    "embedding_multiplier": [1.0, 12.0], "logits_scaling": [1.0, 8.0], "residual_multiplier": [1.0, 0.2], "attention_multiplier": [1.0, 0.1],
    "attention_bias": [False], "mlp_bias": [False], "num_key_value_heads": [1, 6, None], "hidden_act": ["gelu"], "rms_norm_eps": [0.1],
    "rope_theta": [100.0], "tie_word_embeddings": [True], "rope_scaling": [dict(rope_type="linear", factor=2.0)],
})
