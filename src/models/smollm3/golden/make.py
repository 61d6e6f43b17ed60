"""Goldens of SmolLM3 from transformers' SmolLM3ForCausalLM.
python src/models/smollm3/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import SmolLM3Config, SmolLM3ForCausalLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

SMALL = dict(vocab_size=57, hidden_size=24, intermediate_size=40, num_hidden_layers=5, num_attention_heads=6, num_key_value_heads=2,
             max_position_embeddings=512, rope_theta=1000.0, pad_token_id=0, bos_token_id=1, eos_token_id=2)

recipe.case(HERE, "mixed", SmolLM3ForCausalLM, SmolLM3Config(**SMALL), recipe.tokens(31, 57), 256)
recipe.case(HERE, "long", SmolLM3ForCausalLM, SmolLM3Config(**dict(SMALL, max_position_embeddings=2048)), recipe.tokens(1100, 57, 5), 8, 50)
recipe.case(HERE, "windowed", SmolLM3ForCausalLM, SmolLM3Config(**dict(SMALL, use_sliding_window=True, sliding_window=7, no_rope_layer_interval=2)), recipe.tokens(31, 57), 64)

recipe.perturbed(HERE, SmolLM3ForCausalLM, SmolLM3Config, dict(SMALL, num_hidden_layers=2, no_rope_layer_interval=2), recipe.tokens(12, 57, 3), {
    "no_rope_layers": [[1, 1], [0, 1]], "attention_bias": [True], "mlp_bias": [True], "num_key_value_heads": [1, 6], "hidden_act": ["gelu"],
    "rms_norm_eps": [0.1], "rope_theta": [100.0], "tie_word_embeddings": [False], "use_sliding_window": [True], "sliding_window": [3],
    "rope_scaling": [dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=8)],
})
recipe.perturbed(HERE, SmolLM3ForCausalLM, SmolLM3Config, dict(SMALL, num_hidden_layers=3, use_sliding_window=True, sliding_window=5), recipe.tokens(12, 57, 3), {
    "no_rope_layer_interval": [1, 2, 3], "sliding_window": [3],
}, "intervals", drop=["no_rope_layers", "layer_types"])
