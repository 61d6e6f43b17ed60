"""Goldens of Phi 3.5 MoE from transformers' PhimoeForCausalLM.
python src/models/phimoe/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import PhimoeConfig, PhimoeForCausalLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

SMALL = dict(vocab_size=53, hidden_size=32, intermediate_size=20, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=512, rope_theta=1000.0, num_local_experts=7, attention_bias=True, lm_head_bias=True, router_jitter_noise=0.3)
LONG = dict(type="longrope", short_factor=[1.0, 1.1, 1.3, 1.7], long_factor=[1.5, 2.5, 4.0, 9.0], short_mscale=1.2, long_mscale=1.4,
            original_max_position_embeddings=64)

recipe.case(HERE, "sparse", PhimoeForCausalLM, PhimoeConfig(**SMALL), recipe.tokens(40, 53), 256)
recipe.case(HERE, "short", PhimoeForCausalLM, PhimoeConfig(**dict(SMALL, rope_scaling=dict(LONG))), recipe.tokens(40, 53), 8)
recipe.case(HERE, "stretched", PhimoeForCausalLM, PhimoeConfig(**dict(SMALL, rope_scaling=dict(LONG))), recipe.tokens(70, 53), 8)
recipe.case(HERE, "long", PhimoeForCausalLM, PhimoeConfig(**dict(SMALL, num_hidden_layers=1, max_position_embeddings=2048, sliding_window=600)),
            recipe.tokens(1300, 53, 5), 8, 50, cached=False)  # with its cache, the reference forgets the window

recipe.perturbed(HERE, PhimoeForCausalLM, PhimoeConfig, SMALL, recipe.tokens(12, 53, 3), {
    "num_local_experts": [3, 8], "router_jitter_noise": [0.01, 0.6], "intermediate_size": [12], "sliding_window": [3, 12], "hidden_size": [24],
    "num_key_value_heads": [1, 4, None], "hidden_act": ["gelu"], "rms_norm_eps": [0.1], "rope_theta": [100.0], "tie_word_embeddings": [True],
    "attention_bias": [False], "lm_head_bias": [False], "input_jitter_noise": [0.5],
    "rope_scaling": [dict(LONG), dict(LONG, short_mscale=1.0), dict(LONG, original_max_position_embeddings=8),
                     dict(LONG, original_max_position_embeddings=8, long_mscale=1.0)],
})
