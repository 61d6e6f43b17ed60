"""Goldens of Qwen 3 with experts from transformers' Qwen3MoeForCausalLM.
python src/models/qwen3_moe/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

SMALL = dict(vocab_size=57, hidden_size=24, intermediate_size=28, num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2, head_dim=10,
             max_position_embeddings=512, rope_theta=1000.0, moe_intermediate_size=12, num_experts=9, num_experts_per_tok=3, norm_topk_prob=True)

recipe.case(HERE, "sparse", Qwen3MoeForCausalLM, Qwen3MoeConfig(**SMALL), recipe.tokens(31, 57), 256)
recipe.case(HERE, "long", Qwen3MoeForCausalLM, Qwen3MoeConfig(**dict(SMALL, max_position_embeddings=2048)), recipe.tokens(1100, 57, 5), 8, 50)
recipe.case(HERE, "mixed", Qwen3MoeForCausalLM, Qwen3MoeConfig(**dict(SMALL, num_hidden_layers=4, decoder_sparse_step=2, mlp_only_layers=[3])),
            recipe.tokens(31, 57), 16)

recipe.perturbed(HERE, Qwen3MoeForCausalLM, Qwen3MoeConfig, SMALL, recipe.tokens(12, 57, 3), {
    "num_experts": [3, 8], "num_experts_per_tok": [1, 9], "norm_topk_prob": [False], "moe_intermediate_size": [8], "decoder_sparse_step": [2],
    "mlp_only_layers": [[0], [1, 0]], "intermediate_size": [12], "use_sliding_window": [True], "sliding_window": [5], "head_dim": [4],
    "num_key_value_heads": [1, 6], "hidden_act": ["gelu"], "rms_norm_eps": [0.1], "rope_theta": [100.0], "tie_word_embeddings": [True],
    "attention_bias": [True], "output_router_logits": [True],
})
recipe.perturbed(HERE, Qwen3MoeForCausalLM, Qwen3MoeConfig, dict(SMALL, use_sliding_window=True, sliding_window=5), recipe.tokens(12, 57, 3),
                 {"sliding_window": [3], "use_sliding_window": [False]}, "windowed")
