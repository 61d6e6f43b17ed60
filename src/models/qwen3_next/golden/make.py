"""Goldens of Qwen3-Next from transformers' Qwen3NextForCausalLM (its torch code: no kernels are installed).
python src/models/qwen3_next/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import Qwen3NextConfig
from transformers.models.qwen3_next import modeling_qwen3_next

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

recipe.execute_in_double(modeling_qwen3_next)
Qwen3NextForCausalLM = modeling_qwen3_next.Qwen3NextForCausalLM

SMALL = dict(vocab_size=57, hidden_size=24, intermediate_size=28, num_hidden_layers=4, num_attention_heads=6, num_key_value_heads=2, head_dim=10,
             partial_rotary_factor=0.4, max_position_embeddings=512, rope_theta=1000.0, moe_intermediate_size=12, shared_expert_intermediate_size=14,
             num_experts=9, num_experts_per_tok=3, linear_num_key_heads=2, linear_num_value_heads=6, linear_key_head_dim=7, linear_value_head_dim=9,
             linear_conv_kernel_dim=4)
PLAIN = ("nothing", 1.0)  # no tensor is scaled, but the shapes are kept
TWO = dict(SMALL, num_hidden_layers=2, layer_types=["linear_attention", "full_attention"])


def case(name, config, ids, continue_for=0, thin=1):
    recipe.case(HERE, name, Qwen3NextForCausalLM, Qwen3NextConfig(**config), ids, continue_for, thin, scaled=PLAIN)


case("mixed", SMALL, recipe.tokens(31, 57), 256)
case("long", dict(TWO, max_position_embeddings=2048), recipe.tokens(1100, 57, 5), 8, 50)

recipe.perturbed(HERE, Qwen3NextForCausalLM, Qwen3NextConfig, TWO, recipe.tokens(12, 57, 3), {
    "vocab_size": [70], "hidden_size": [20], "num_attention_heads": [2], "num_key_value_heads": [1, 6], "head_dim": [20], "hidden_act": ["gelu"],
    "rms_norm_eps": [0.1], "tie_word_embeddings": [True], "rope_theta": [100.0], "partial_rotary_factor": [0.2, 1.0], "attention_bias": [True],
    "num_experts": [3, 0], "num_experts_per_tok": [1, 9], "norm_topk_prob": [False], "moe_intermediate_size": [8],
    "shared_expert_intermediate_size": [6], "decoder_sparse_step": [2], "mlp_only_layers": [[0], [1, 0]], "linear_num_key_heads": [1, 6],
    "linear_num_value_heads": [2, 4], "linear_key_head_dim": [5], "linear_value_head_dim": [4], "linear_conv_kernel_dim": [2, 7],
    "layer_types": [["full_attention", "linear_attention"]], "max_position_embeddings": [128],
    "output_router_logits": [True], "use_cache": [False], "router_aux_loss_coef": [0.5], "attention_dropout": [0.5],
}, scaled=PLAIN)
recipe.perturbed(HERE, Qwen3NextForCausalLM, Qwen3NextConfig, SMALL, recipe.tokens(12, 57, 3), {"full_attention_interval": [2, 3]}, "interval",
                 drop=("layer_types",), scaled=PLAIN)
