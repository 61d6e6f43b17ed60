"""Goldens of DeepSeek V2 and V3 from transformers' DeepseekV2ForCausalLM and DeepseekV3ForCausalLM.
python src/models/deepseek_v2/golden/make.py

V2's attention lacks a factor of scores in this version; Corrected adds it.
Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import DeepseekV2Config, DeepseekV3Config, DeepseekV3ForCausalLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
sys.path.insert(0, str(HERE))
import recipe  # noqa: E402
from network import Corrected  # noqa: E402

YARN = dict(type="yarn", factor=40.0, original_max_position_embeddings=16, beta_fast=32, beta_slow=1, mscale=0.707, mscale_all_dim=0.707)
SMALL = dict(vocab_size=57, hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=5, num_key_value_heads=None,
             max_position_embeddings=512, rope_theta=1000.0, kv_lora_rank=14, q_lora_rank=None, qk_nope_head_dim=10, qk_rope_head_dim=6, v_head_dim=9,
             n_routed_experts=8, n_shared_experts=2, num_experts_per_tok=3, moe_intermediate_size=12, first_k_dense_replace=1, routed_scaling_factor=1.0)
GROUPED = dict(SMALL, q_lora_rank=11, topk_method="group_limited_greedy", n_group=4, topk_group=2, routed_scaling_factor=3.0)
THIRD = dict(SMALL, q_lora_rank=11, n_group=4, topk_group=2, n_shared_experts=1, routed_scaling_factor=2.5, norm_topk_prob=True)
PLAIN = ("nothing", 1.0)  # no tensor is scaled, but the shapes are kept


def case(name, config, ids, continue_for=0, thin=1, cls=Corrected):
    recipe.case(HERE, name, cls, config, ids, continue_for, thin, scaled=PLAIN)


case("lite", DeepseekV2Config(**SMALL), recipe.tokens(31, 57), 256)
case("grouped", DeepseekV2Config(**GROUPED), recipe.tokens(31, 57), 64)
case("yarn", DeepseekV2Config(**dict(SMALL, rope_scaling=YARN)), recipe.tokens(31, 57), 16)
case("third", DeepseekV3Config(**dict(THIRD, rope_scaling=dict(YARN, mscale=1.0, mscale_all_dim=1.0))), recipe.tokens(31, 57), 64, cls=DeepseekV3ForCausalLM)
case("long", DeepseekV2Config(**dict(SMALL, num_hidden_layers=2, max_position_embeddings=2048)), recipe.tokens(1100, 57, 5), 8, 50)

SHARED = {
    "num_attention_heads": [2], "kv_lora_rank": [8], "q_lora_rank": [None, 7], "qk_nope_head_dim": [4], "qk_rope_head_dim": [4], "v_head_dim": [6],
    "n_routed_experts": [16], "n_shared_experts": [3], "num_experts_per_tok": [1, 4], "moe_intermediate_size": [8], "first_k_dense_replace": [0, 2],
    "routed_scaling_factor": [0.5], "attention_bias": [True], "hidden_act": ["gelu"], "rms_norm_eps": [0.1], "rope_theta": [100.0],
    "tie_word_embeddings": [True], "n_group": [2], "topk_group": [3],
    "rope_scaling": [YARN, dict(YARN, mscale=1.0), dict(YARN, mscale_all_dim=1.0), dict(YARN, factor=4.0)],
}
recipe.perturbed(HERE, Corrected, DeepseekV2Config, dict(GROUPED, num_hidden_layers=2), recipe.tokens(12, 57, 3),
                 {**SHARED, "mlp_bias": [True], "topk_method": ["greedy"], "norm_topk_prob": [False]}, scaled=PLAIN)
recipe.perturbed(HERE, DeepseekV3ForCausalLM, DeepseekV3Config, dict(THIRD, num_hidden_layers=2), recipe.tokens(12, 57, 3),
                 {**SHARED, "norm_topk_prob": [False], "rope_interleave": [False]}, "perturbed_third", scaled=PLAIN)
