"""Goldens of Qwen 1.5 and 2 with experts from transformers' Qwen2MoeForCausalLM.
python src/models/qwen2_moe/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import Qwen2MoeConfig, Qwen2MoeForCausalLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

SMALL = dict(vocab_size=57, hidden_size=24, intermediate_size=28, num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2,
             max_position_embeddings=512, rope_theta=1000.0, moe_intermediate_size=12, shared_expert_intermediate_size=20, num_experts=7,
             num_experts_per_tok=3)

recipe.case(HERE, "sparse", Qwen2MoeForCausalLM, Qwen2MoeConfig(**SMALL), recipe.tokens(31, 57), 256)
recipe.case(HERE, "long", Qwen2MoeForCausalLM, Qwen2MoeConfig(**dict(SMALL, max_position_embeddings=2048)), recipe.tokens(1100, 57, 5), 8, 50)
recipe.case(HERE, "mixed", Qwen2MoeForCausalLM, Qwen2MoeConfig(**dict(SMALL, num_hidden_layers=4, decoder_sparse_step=2, mlp_only_layers=[3])),
            recipe.tokens(31, 57), 16)

recipe.perturbed(HERE, Qwen2MoeForCausalLM, Qwen2MoeConfig, SMALL, recipe.tokens(12, 57, 3), {
    "num_experts": [3, 8], "num_experts_per_tok": [1, 7], "norm_topk_prob": [True], "moe_intermediate_size": [8], "shared_expert_intermediate_size": [8],
    "decoder_sparse_step": [2], "mlp_only_layers": [[0], [1, 0]], "intermediate_size": [12], "use_sliding_window": [True], "sliding_window": [5],
    "max_window_layers": [0], "num_key_value_heads": [1, 6], "hidden_act": ["gelu"], "rms_norm_eps": [0.1], "rope_theta": [100.0],
    "tie_word_embeddings": [True], "qkv_bias": [False], "output_router_logits": [True], "router_aux_loss_coef": [0.5],
})
recipe.perturbed(HERE, Qwen2MoeForCausalLM, Qwen2MoeConfig, dict(SMALL, use_sliding_window=True, sliding_window=5, max_window_layers=1),
                 recipe.tokens(12, 57, 3), {"sliding_window": [3], "max_window_layers": [0, 2], "use_sliding_window": [False]}, "windowed")
