"""Goldens of Phi 3, 3.5 and 4-mini from transformers' Phi3ForCausalLM.
python src/models/phi3/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import Phi3Config, Phi3ForCausalLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

SMALL = dict(vocab_size=57, hidden_size=48, intermediate_size=40, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
             max_position_embeddings=512, original_max_position_embeddings=512, rope_theta=1000.0, pad_token_id=0, bos_token_id=1, eos_token_id=2)
LONG = dict(type="longrope", short_factor=[1.0, 1.1, 1.3, 1.7], long_factor=[1.5, 2.5, 4.0, 9.0])
STRETCHED = dict(max_position_embeddings=1024, original_max_position_embeddings=64, rope_scaling=LONG)

recipe.case(HERE, "windowed", Phi3ForCausalLM, Phi3Config(**dict(SMALL, sliding_window=7)), recipe.tokens(31, 57), 256)
# One text that stays below the trained length, one that begins beyond it: the lists of factors are those of its whole length.
recipe.case(HERE, "short", Phi3ForCausalLM, Phi3Config(**dict(SMALL, **STRETCHED)), recipe.tokens(31, 57), 30)
recipe.case(HERE, "stretched", Phi3ForCausalLM, Phi3Config(**dict(SMALL, **STRETCHED)), recipe.tokens(70, 57), 64)
recipe.case(HERE, "partial", Phi3ForCausalLM, Phi3Config(**dict(SMALL, partial_rotary_factor=0.75, num_attention_heads=6, tie_word_embeddings=True)),
            recipe.tokens(31, 57), 64)
recipe.case(HERE, "long", Phi3ForCausalLM, Phi3Config(**dict(SMALL, num_hidden_layers=2, max_position_embeddings=2048, sliding_window=600)),
            recipe.tokens(1300, 57, 5), 8, 50)

recipe.perturbed(HERE, Phi3ForCausalLM, Phi3Config, dict(SMALL, num_hidden_layers=2, **STRETCHED), recipe.tokens(12, 57, 3), {
    "vocab_size": [70], "intermediate_size": [20], "num_hidden_layers": [1, 3], "num_key_value_heads": [1, 6, None],
    "hidden_act": ["gelu"], "rms_norm_eps": [0.1], "tie_word_embeddings": [True], "rope_theta": [100.0], "original_max_position_embeddings": [8, 256],
    "max_position_embeddings": [64, 128], "sliding_window": [3, 12], "resid_pdrop": [0.5], "embd_pdrop": [0.5], "attention_dropout": [0.5],
    "rope_scaling": [None, dict(LONG, type="su"), dict(LONG, short_factor=[1.0, 1.0, 1.0, 1.0])],
})
recipe.perturbed(HERE, Phi3ForCausalLM, Phi3Config, dict(SMALL, num_hidden_layers=2), recipe.tokens(12, 57, 3),
                 {"hidden_size": [24], "num_attention_heads": [4], "partial_rotary_factor": [0.5, 0.75]}, "plain")
