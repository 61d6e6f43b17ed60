"""Goldens of StableLM from transformers' StableLmForCausalLM.
python src/models/stablelm/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import StableLmConfig, StableLmForCausalLM, StableLmPreTrainedModel

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

StableLmPreTrainedModel._init_weights = lambda self, module: None  # it fails for norms without bias; all weights are replaced here

SMALL = dict(vocab_size=57, hidden_size=48, intermediate_size=40, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
             max_position_embeddings=512, rope_theta=1000.0, partial_rotary_factor=0.5)

recipe.case(HERE, "plain", StableLmForCausalLM, StableLmConfig(**SMALL), recipe.tokens(31, 57), 256)
recipe.case(HERE, "long", StableLmForCausalLM, StableLmConfig(**dict(SMALL, max_position_embeddings=2048)), recipe.tokens(1100, 57, 5), 8, 50)
recipe.case(HERE, "parallel", StableLmForCausalLM, StableLmConfig(**dict(SMALL, use_parallel_residual=True, qk_layernorm=True, use_qkv_bias=True)), recipe.tokens(31, 57), 64)

recipe.perturbed(HERE, StableLmForCausalLM, StableLmConfig, dict(SMALL, num_hidden_layers=2), recipe.tokens(12, 57, 3), {
    "use_qkv_bias": [True], "qk_layernorm": [True], "use_parallel_residual": [True], "partial_rotary_factor": [0.25, 1.0], "layer_norm_eps": [0.1],
    "num_key_value_heads": [1, 6], "hidden_act": ["gelu"], "rope_theta": [100.0], "tie_word_embeddings": [True], "hidden_dropout": [0.5],
    "rope_scaling": [dict(rope_type="linear", factor=2.0)],
})
