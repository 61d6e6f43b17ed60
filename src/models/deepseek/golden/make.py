"""Goldens of DeepSeek MoE: transformers' LlamaForCausalLM with the experts of its DeepSeek V2.
python src/models/deepseek/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
sys.path.insert(0, str(HERE))
import recipe  # noqa: E402
from network import DeepseekConfig, DeepseekForCausalLM  # noqa: E402

SMALL = dict(vocab_size=57, hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
             max_position_embeddings=512, rope_theta=1000.0, n_routed_experts=8, n_shared_experts=2, num_experts_per_tok=3, moe_intermediate_size=12,
             first_k_dense_replace=1, norm_topk_prob=False)


def json_config(config):
    """Without the keys of V2's router."""
    return {key: value for key, value in recipe.config_json(DeepseekForCausalLM(config)).items() if key not in ("n_group", "topk_group", "routed_scaling_factor")}


recipe.case(HERE, "sparse", DeepseekForCausalLM, DeepseekConfig(**SMALL), recipe.tokens(31, 57), 256, json_config=json_config(DeepseekConfig(**SMALL)))
LONG = dict(SMALL, max_position_embeddings=2048)
recipe.case(HERE, "long", DeepseekForCausalLM, DeepseekConfig(**LONG), recipe.tokens(1100, 57, 5), 8, 50, json_config=json_config(DeepseekConfig(**LONG)))

recipe.perturbed(HERE, DeepseekForCausalLM, DeepseekConfig, dict(SMALL, num_hidden_layers=2), recipe.tokens(12, 57, 3), {
    "n_routed_experts": [4, 9], "n_shared_experts": [1, 3], "num_experts_per_tok": [1, 8], "moe_intermediate_size": [8], "first_k_dense_replace": [0, 2],
    "num_key_value_heads": [1, 6], "hidden_act": ["gelu"], "rms_norm_eps": [0.1], "rope_theta": [100.0], "tie_word_embeddings": [True],
    "rope_scaling": [dict(type="linear", factor=2.0)],
}, drop=["n_group", "topk_group", "routed_scaling_factor"])
