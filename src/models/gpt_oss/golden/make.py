"""Goldens of gpt-oss from transformers' GptOssForCausalLM.
python src/models/gpt_oss/golden/make.py

The experts' tensors are multiplied by 40: name-derived values of stacked tensors are small, and the clamps would never be reached.
Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import GptOssConfig, GptOssForCausalLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

YARN = dict(rope_type="yarn", factor=4.0, beta_fast=32.0, beta_slow=1.0, truncate=False, original_max_position_embeddings=16)
SMALL = dict(vocab_size=53, hidden_size=24, intermediate_size=20, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
             max_position_embeddings=512, rope_theta=1000.0, num_local_experts=7, num_experts_per_tok=3, sliding_window=7, rope_scaling=YARN,
             eos_token_id=2, pad_token_id=0)
SCALED = ("experts.", 40.0)

recipe.case(HERE, "sparse", GptOssForCausalLM, GptOssConfig(**SMALL), recipe.tokens(40, 53), 256, scaled=SCALED)
recipe.case(HERE, "long", GptOssForCausalLM, GptOssConfig(**dict(SMALL, max_position_embeddings=2048, sliding_window=600)), recipe.tokens(1300, 53, 5), 8, 50,
            scaled=SCALED)

recipe.perturbed(HERE, GptOssForCausalLM, GptOssConfig, SMALL, recipe.tokens(12, 53, 3), {
    "num_local_experts": [4, 8], "num_experts_per_tok": [1, 7], "intermediate_size": [12], "sliding_window": [3, 12], "head_dim": [6],
    "layer_types": [["full_attention", "sliding_attention"], ["full_attention", "full_attention"]],
    "num_key_value_heads": [1, 4], "hidden_act": ["gelu"], "rms_norm_eps": [0.1], "rope_theta": [100.0], "tie_word_embeddings": [True],
    "rope_scaling": [dict(YARN, truncate=True), dict(YARN, factor=8.0), None],
}, scaled=SCALED)
