"""Goldens of Llama from transformers' LlamaForCausalLM.
python src/models/llama/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import LlamaConfig, LlamaForCausalLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

SMALL = dict(vocab_size=61, hidden_size=24, intermediate_size=44, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2, head_dim=10,
             max_position_embeddings=64, rope_theta=10000.0, bos_token_id=1, eos_token_id=2)
LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16)


def case(name, ids=None, continue_for=0, thin=1, **config):
    c = LlamaConfig(**{**SMALL, **config})
    recipe.case(HERE, name, LlamaForCausalLM, c, ids or recipe.tokens(29, c.vocab_size), continue_for, thin)


case("grouped", continue_for=256, max_position_embeddings=512)
case("biased", attention_bias=True, mlp_bias=True, num_attention_heads=3, num_key_value_heads=3, head_dim=None, num_hidden_layers=1, tie_word_embeddings=True,
     hidden_act="gelu_pytorch_tanh")
case("llama3", rope_scaling=LLAMA3, rope_theta=500.0, continue_for=64)
case("yarn", rope_scaling=YARN, rope_theta=500.0)
case("yarn_given", rope_scaling=dict(YARN, beta_fast=4.0, beta_slow=0.5, attention_factor=1.3, truncate=False), rope_theta=500.0)
case("linear", rope_scaling=dict(type="linear", factor=3.0))
case("dynamic", rope_scaling=dict(rope_type="dynamic", factor=2.0), max_position_embeddings=16)
# longer than every piece that goes through the network together
case("long", ids=recipe.tokens(1100, 61, 5), thin=50, num_hidden_layers=2, max_position_embeddings=2048)

recipe.perturbed(HERE, LlamaForCausalLM, LlamaConfig, dict(SMALL, num_hidden_layers=2, rope_scaling=None), recipe.tokens(11, 61, 3), {
    "vocab_size": [70], "hidden_size": [20], "intermediate_size": [20], "num_hidden_layers": [1, 3], "num_attention_heads": [2, 4],
    "num_key_value_heads": [1, 3, 6, None], "head_dim": [4, None], "hidden_act": ["gelu", "relu"], "rms_norm_eps": [0.1],
    "tie_word_embeddings": [True], "rope_theta": [100.0], "max_position_embeddings": [128], "attention_bias": [True], "mlp_bias": [True],
    "pretraining_tp": [2], "attention_dropout": [0.5], "initializer_range": [0.1], "use_cache": [False], "bos_token_id": [3], "eos_token_id": [[2, 4]],
    "rope_scaling": [dict(type="linear", factor=2.0), LLAMA3, dict(LLAMA3, factor=2.0), dict(LLAMA3, low_freq_factor=2.0), dict(LLAMA3, high_freq_factor=8.0),
                     dict(LLAMA3, original_max_position_embeddings=32), YARN, dict(YARN, mscale=0.7, mscale_all_dim=0.4), dict(YARN, beta_fast=2.0),
                     dict(YARN, beta_slow=0.1), dict(YARN, factor=2.0), dict(rope_type="dynamic", factor=3.0), dict(rope_type="default")],
})
