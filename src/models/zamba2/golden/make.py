"""Goldens of Zamba 2 from transformers' Zamba2ForCausalLM: its slow path in f64, with the sum over earlier chunks corrected.
python src/models/zamba2/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

from transformers import Zamba2Config
from transformers.models.zamba2 import modeling_zamba2

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

# The states of earlier chunks are axis 3; transformers 4.57.1 sums over axis 2.
recipe.execute_in_double(modeling_zamba2, ("states_permuted[:, :, None, ...]).sum(dim=2)", "states_permuted[:, :, None, ...]).sum(dim=3)"))
Zamba2ForCausalLM = modeling_zamba2.Zamba2ForCausalLM

# Without it these small networks amplify rounding: weights changed by 6e-8 of their values move the logits of "adapters" by 2.6e-4, and by 1.8e-6 with
# a factor of 0.1.
SCALED = ("in_proj", 0.125)
SMALL = dict(vocab_size=57, hidden_size=24, intermediate_size=20, num_hidden_layers=7, num_attention_heads=4, n_mamba_heads=6, mamba_d_state=5,
             mamba_ngroups=2, chunk_size=16, num_mem_blocks=2, adapter_rank=3, use_shared_attention_adapter=True, use_mem_rope=True, rope_theta=100.0,
             layers_block_type=["mamba", "hybrid", "mamba", "hybrid", "hybrid", "mamba", "hybrid"], time_step_min=1e-9)

recipe.case(HERE, "adapters", Zamba2ForCausalLM, Zamba2Config(**SMALL), recipe.tokens(31, 57), 256, cached=False, scaled=SCALED)
recipe.case(HERE, "long", Zamba2ForCausalLM, Zamba2Config(**dict(SMALL, num_hidden_layers=3, layers_block_type=["hybrid", "mamba", "hybrid"], num_mem_blocks=1,
                                                                 use_shared_attention_adapter=False, use_mem_rope=False, mamba_ngroups=1, mamba_d_state=4,
                                                                 tie_word_embeddings=False, num_key_value_heads=2, n_mamba_heads=3)),
            recipe.tokens(1100, 57), 8, 50, cached=False, scaled=SCALED)
recipe.perturbed(HERE, Zamba2ForCausalLM, Zamba2Config, SMALL, recipe.tokens(12, 57, 3), {
    "num_mem_blocks": [1, 3], "adapter_rank": [5], "use_shared_attention_adapter": [False], "use_mem_rope": [False], "rope_theta": [1000.0],
    "layers_block_type": [["hybrid", "mamba", "mamba", "mamba", "mamba", "mamba", "hybrid"]], "mamba_d_state": [3], "mamba_d_conv": [2, 5],
    "mamba_expand": [1, 3], "mamba_ngroups": [1, 3], "n_mamba_heads": [4], "add_bias_linear": [True], "intermediate_size": [12], "hidden_act": ["silu"],
    "num_attention_heads": [2, 6], "rms_norm_eps": [0.1], "tie_word_embeddings": [False], "num_logits_to_keep": [5], "use_mem_eff_path": [True], "chunk_size": [5, 64],
}, drop=("num_key_value_heads",), scaled=SCALED)
