"""Goldens of DeepSeek MoE: transformers' LlamaForCausalLM with the experts of its DeepSeek V2.
python src/models/deepseek/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.deepseek_v2.modeling_deepseek_v2 import DeepseekV2MoE

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402


class DeepseekConfig(LlamaConfig):
    model_type = "deepseek"

    def __init__(self, topk_method="greedy", n_group=None, topk_group=None, routed_scaling_factor=1.0, aux_loss_alpha=0.001, seq_aux=True, **keys):
        super().__init__(**keys)
        self.topk_method, self.n_group, self.topk_group = topk_method, n_group, topk_group
        self.routed_scaling_factor, self.aux_loss_alpha, self.seq_aux = routed_scaling_factor, aux_loss_alpha, seq_aux


class DeepseekForCausalLM(LlamaForCausalLM):
    config_class = DeepseekConfig

    def __init__(self, config):
        super().__init__(config)
        for i, layer in enumerate(self.model.layers):
            if i >= config.first_k_dense_replace:
                layer.mlp = DeepseekV2MoE(config)


SMALL = dict(vocab_size=57, hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
             max_position_embeddings=512, rope_theta=1000.0, n_routed_experts=8, n_shared_experts=2, num_experts_per_tok=3, moe_intermediate_size=12,
             first_k_dense_replace=1, norm_topk_prob=False)


def json_config(config):
    """Without the keys of V2's router."""
    return {key: value for key, value in recipe.config_json(DeepseekForCausalLM(config)).items() if key not in ("n_group", "topk_group", "routed_scaling_factor")}


recipe.case(HERE, "sparse", DeepseekForCausalLM, DeepseekConfig(**SMALL), recipe.tokens(31, 57), 256, json_config=json_config(DeepseekConfig(**SMALL)))

recipe.perturbed(HERE, DeepseekForCausalLM, DeepseekConfig, dict(SMALL, num_hidden_layers=2), recipe.tokens(12, 57, 3), {
    "n_routed_experts": [4, 9], "n_shared_experts": [1, 3], "num_experts_per_tok": [1, 8], "moe_intermediate_size": [8], "first_k_dense_replace": [0, 2],
    "num_key_value_heads": [1, 6], "hidden_act": ["gelu"], "rms_norm_eps": [0.1], "rope_theta": [100.0], "tie_word_embeddings": [True],
    "rope_scaling": [dict(type="linear", factor=2.0)],
}, drop=["n_group", "topk_group", "routed_scaling_factor"])
