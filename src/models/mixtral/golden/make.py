"""Goldens of Mixtral from transformers' MixtralForCausalLM.
python src/models/mixtral/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import MixtralConfig, MixtralForCausalLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

SMALL = dict(vocab_size=53, hidden_size=24, intermediate_size=20, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
             max_position_embeddings=512, rope_theta=1000.0, num_local_experts=7, num_experts_per_tok=2)

recipe.case(HERE, "sparse", MixtralForCausalLM, MixtralConfig(**SMALL), recipe.tokens(40, 53), 256)
recipe.case(HERE, "long", MixtralForCausalLM, MixtralConfig(**dict(SMALL, max_position_embeddings=2048, sliding_window=600)), recipe.tokens(1300, 53, 5), 8, 50)

recipe.perturbed(HERE, MixtralForCausalLM, MixtralConfig, SMALL, recipe.tokens(12, 53, 3), {
    "num_local_experts": [3, 8], "num_experts_per_tok": [1, 3, 7], "intermediate_size": [12], "sliding_window": [3, 12], "head_dim": [6, None],
    "num_key_value_heads": [1, 4], "hidden_act": ["gelu"], "rms_norm_eps": [0.1], "rope_theta": [100.0], "tie_word_embeddings": [True],
    "router_jitter_noise": [0.5], "output_router_logits": [True], "router_aux_loss_coef": [0.5], "attention_dropout": [0.5],
})
