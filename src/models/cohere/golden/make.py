"""Goldens of Command R from transformers' CohereForCausalLM.
python src/models/cohere/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import CohereConfig, CohereForCausalLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

SMALL = dict(vocab_size=57, hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
             max_position_embeddings=512, rope_theta=1000.0, logit_scale=0.5, pad_token_id=0, bos_token_id=1, eos_token_id=2)

recipe.case(HERE, "parallel", CohereForCausalLM, CohereConfig(**SMALL), recipe.tokens(31, 57), 256)
recipe.case(HERE, "long", CohereForCausalLM, CohereConfig(**dict(SMALL, max_position_embeddings=2048)), recipe.tokens(1100, 57, 5), 8, 50)
recipe.case(HERE, "normed", CohereForCausalLM, CohereConfig(**dict(SMALL, use_qk_norm=True, attention_bias=True)), recipe.tokens(31, 57), 64)

recipe.perturbed(HERE, CohereForCausalLM, CohereConfig, dict(SMALL, num_hidden_layers=2), recipe.tokens(12, 57, 3), {
    "logit_scale": [0.0625, 1.0], "use_qk_norm": [True], "attention_bias": [True], "layer_norm_eps": [0.1], "num_key_value_heads": [1, 6, None],
    "hidden_act": ["gelu"], "rope_theta": [100.0], "tie_word_embeddings": [False], "rope_scaling": [dict(rope_type="linear", factor=2.0)],
})
