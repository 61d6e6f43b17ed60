"""Goldens of InternLM 2: transformers' LlamaForCausalLM with InternLM's weights, rearranged as its remote code does.
python src/models/internlm2/golden/make.py

Made with torch 2.15.0, transformers 4.57.1.
"""
import sys
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

NAMES = {"attention.wo": "self_attn.o_proj", "feed_forward.w1": "mlp.gate_proj", "feed_forward.w3": "mlp.up_proj", "feed_forward.w2": "mlp.down_proj",
         "attention_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}


class InternLM2Config(LlamaConfig):
    model_type = "internlm2"

    def __init__(self, bias=True, **keys):
        keys.pop("attention_bias", None)
        super().__init__(attention_bias=bias, **keys)
        self.bias = bias


class InternLM2ForCausalLM(LlamaForCausalLM):
    """A Llama that takes InternLM's tensors: state_dict() has their names and shapes, and copying into it changes the Llama's."""
    config_class = InternLM2Config

    def state_dict(self, *args, **kwargs):
        return {theirs: value for theirs, value in self.theirs().items()}

    def theirs(self):
        if not hasattr(self, "kept"):
            own, c = dict(super().state_dict()), self.config
            kept = {"model.tok_embeddings.weight": own["model.embed_tokens.weight"], "model.norm.weight": own["model.norm.weight"]}
            if not c.tie_word_embeddings:
                kept["output.weight"] = own["lm_head.weight"]
            for name, value in own.items():
                for theirs, ours in NAMES.items():
                    if f".{ours}." in name:
                        kept[name.replace(ours, theirs)] = value
                if ".q_proj." in name:
                    rows = (c.num_attention_heads + 2 * c.num_key_value_heads) * c.head_dim
                    kept[name.replace("self_attn.q_proj", "attention.wqkv")] = torch.empty((rows, *value.shape[1:]))
            object.__setattr__(self, "kept", kept)
        return self.kept

    def double(self):
        own, c = dict(super().state_dict()), self.config
        for name, value in self.theirs().items():
            if ".wqkv." not in name:
                continue
            # rearrange(wqkv, "(h gs d) ... -> h gs d ..."): the queries of a group, its key, its value
            apart = value.view(c.num_key_value_heads, c.num_attention_heads // c.num_key_value_heads + 2, c.head_dim, *value.shape[1:])
            for ours, part in (("q_proj", apart[:, :-2]), ("k_proj", apart[:, -2]), ("v_proj", apart[:, -1])):
                own[name.replace("attention.wqkv", f"self_attn.{ours}")].copy_(part.reshape(-1, *value.shape[1:]))
        return super().double()


PLAIN = ("nothing", 1.0)  # no tensor is scaled, but the shapes are kept
SMALL = dict(vocab_size=57, hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
             max_position_embeddings=512, rope_theta=1000.0)
DROP = ("attention_bias", "mlp_bias", "head_dim")


def json_config(config):
    return {key: value for key, value in recipe.config_json(InternLM2ForCausalLM(config)).items() if key not in DROP}


with torch.no_grad():
    recipe.case(HERE, "grouped", InternLM2ForCausalLM, InternLM2Config(**SMALL), recipe.tokens(31, 57), 256, json_config=json_config(InternLM2Config(**SMALL)),
                taps=lambda name: recipe.tapped(name) and name != "model.embed_tokens", scaled=PLAIN)
    LONG = InternLM2Config(**dict(SMALL, max_position_embeddings=2048))
    recipe.case(HERE, "long", InternLM2ForCausalLM, LONG, recipe.tokens(1100, 57, 5), 8, 50, json_config=json_config(LONG),
                taps=lambda name: recipe.tapped(name) and name != "model.embed_tokens", scaled=PLAIN)
    recipe.perturbed(HERE, InternLM2ForCausalLM, InternLM2Config, dict(SMALL, num_hidden_layers=2), recipe.tokens(12, 57, 3), {
        "bias": [False], "num_key_value_heads": [1, 3, 6], "num_attention_heads": [4], "hidden_act": ["gelu"], "rms_norm_eps": [0.1], "rope_theta": [100.0],
        "rope_scaling": [dict(type="dynamic", factor=2.0)],
    }, drop=DROP, scaled=PLAIN)
