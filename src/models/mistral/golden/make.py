"""Goldens of Mistral from transformers' MistralForCausalLM.
python src/models/mistral/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import MistralConfig, MistralForCausalLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

SMALL = dict(vocab_size=53, hidden_size=24, intermediate_size=36, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
             max_position_embeddings=512, rope_theta=1000.0, sliding_window=7)

recipe.case(HERE, "windowed", MistralForCausalLM, MistralConfig(**SMALL), recipe.tokens(40, 53), 256)
recipe.case(HERE, "open", MistralForCausalLM, MistralConfig(**dict(SMALL, sliding_window=None, head_dim=None)), recipe.tokens(20, 53), 16)
# a window that is narrower and one that is wider than the pieces that go through the network together
recipe.case(HERE, "long", MistralForCausalLM, MistralConfig(**dict(SMALL, num_hidden_layers=2, max_position_embeddings=2048, sliding_window=600)),
            recipe.tokens(1300, 53, 5), 8, 50)

recipe.perturbed(HERE, MistralForCausalLM, MistralConfig, dict(SMALL, num_hidden_layers=2), recipe.tokens(12, 53, 3), {
    "sliding_window": [3, 12, 4096, None], "head_dim": [6, None], "num_key_value_heads": [1, 4, None], "hidden_act": ["gelu"], "rms_norm_eps": [0.1],
    "rope_theta": [100.0], "tie_word_embeddings": [True], "attention_dropout": [0.5],
})
