"""transformers' DeepseekV2ForCausalLM with the factor of scores that it lacks in this version (corrected in July 2026), and V3's router in float64."""
import math

from transformers import DeepseekV2ForCausalLM
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3TopkRouter

choose = DeepseekV3TopkRouter.forward


def choose_in_f64(self, hidden_states):
    """Its weights are float32, which a network in float64 does not accept."""
    indices, weights = choose(self, hidden_states)
    return indices, weights.to(hidden_states.dtype)


DeepseekV3TopkRouter.forward = choose_in_f64


class Corrected(DeepseekV2ForCausalLM):
    def __init__(self, config):
        super().__init__(config)
        scaling = config.rope_scaling or {}
        if scaling.get("mscale_all_dim"):
            factor = (0.1 * scaling["mscale_all_dim"] * math.log(scaling["factor"]) + 1) ** 2
            for layer in self.model.layers:
                layer.self_attn.scaling *= factor


Corrected.__name__ = "DeepseekV2ForCausalLM"
