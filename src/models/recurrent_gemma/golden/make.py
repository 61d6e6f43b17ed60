"""Goldens of RecurrentGemma from transformers' RecurrentGemmaForCausalLM.
python src/models/recurrent_gemma/golden/make.py

The reference has a state of its own in place of a cache object, and keeps h in float32. It is wrong for a prompt longer than the window, so that a case with
`stepwise` feeds two tokens, then one by one; and it moves its keys one token too early, leaving a key of zeros among them for a whole window, which
update_cache corrects.
Made with torch 2.15.0, transformers 4.57.1.
"""
import copy
import sys
from pathlib import Path

import torch
from transformers import RecurrentGemmaConfig, RecurrentGemmaForCausalLM
from transformers.models.recurrent_gemma.modeling_recurrent_gemma import RecurrentGemmaSdpaAttention

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402



def update_cache(self, key_states, value_states, cache_position):
    window, last = self.config.attention_window_size, int(cache_position[-1])
    assert len(cache_position) <= window
    for name, new in (("key_states", key_states), ("value_states", value_states)):
        stored = torch.roll(getattr(self, name), -1 if last >= window else 0, dims=2)
        stored[:, :, cache_position.clamp(max=window - 1)] = new
        setattr(self, name, stored)
    return self.key_states, self.value_states


RecurrentGemmaSdpaAttention._update_cache = update_cache

SMALL = dict(vocab_size=57, hidden_size=24, intermediate_size=40, num_hidden_layers=4, num_attention_heads=3, num_key_value_heads=1, lru_width=30,
             attention_window_size=512, conv1d_width=4, logits_soft_cap=3.0, rope_theta=1000.0)


def logits(net, ids):
    """Of all tokens, with the state that remains in the network."""
    with torch.no_grad():
        return net(torch.tensor([ids]), use_cache=True, cache_position=torch.arange(len(ids))).logits[0]


def step(net, token, position):
    with torch.no_grad():
        return net(torch.tensor([[token]]), use_cache=True, cache_position=torch.tensor([position])).logits[0, 0]


def network(config):
    net = RecurrentGemmaForCausalLM(config).float().eval()
    recipe.name_weights.fill(net)
    with torch.no_grad():
        table = net.model.embed_tokens.weight
        table.copy_(torch.from_numpy(recipe.name_weights.tensor("model.embed_tokens.weight", tuple(table.shape))))
    return net.double()


def case(name, config, ids, continue_for=0, thin=1, stepwise=False):
    net = network(RecurrentGemmaConfig(**config))
    if stepwise:
        y = torch.cat([logits(net, ids[:2])] + [step(net, token, i + 2)[None] for i, token in enumerate(ids[2:])])
    else:
        y = logits(net, ids)
    more, last, lead = [], y[-1], float("inf")
    for i in range(continue_for):
        best = last.topk(2)
        lead = min(lead, float(best.values[0] - best.values[1]))
        more.append(int(best.indices[0]))
        last = step(net, more[-1], len(ids) + i)
    print(f"  {name}: smallest lead of a greedy token {lead:.2e}")
    recipe.golden.save(HERE, name, {"logits": y[::thin].float().numpy()}, recipe.config_json(net), recipe.VERSIONS, ids=ids, factor=1.0, thin=thin,
                       greedy=more, shapes=shapes(net))


def shapes(net):
    return {name: shape for name, shape in recipe.shapes(net).items() if name != "lm_head.weight" or not net.config.tie_word_embeddings}


def perturbed(base, ids, changes):
    net = network(RecurrentGemmaConfig(**base))
    y = logits(net, ids).float().numpy()
    arrays, told = {"base": y}, []
    for key, values in changes.items():
        for value in values:
            other = network(RecurrentGemmaConfig(**{**base, key: copy.deepcopy(value)}))
            z = logits(other, ids).float().numpy()
            arrays[str(len(told))] = z
            told.append({"key": key, "value": value, "same": recipe.golden.same(z, y), "shapes": recipe.difference(shapes(net), shapes(other))})
            print("  same" if told[-1]["same"] else "  other", key, value)
    stated = {key: value for key, value in recipe.config_json(net).items() if key != "head_dim"}
    recipe.golden.save(HERE, "perturbed", arrays, stated, recipe.VERSIONS, changes=told, ids=ids, factor=1.0, shapes=shapes(net))


case("mixed", SMALL, recipe.tokens(31, 57), 256)
case("windowed", dict(SMALL, attention_window_size=7), recipe.tokens(31, 57, 2), 64, stepwise=True)
case("long", dict(SMALL, num_hidden_layers=3, attention_window_size=2048), recipe.tokens(1100, 57, 5), 8, 50)
perturbed(dict(SMALL, num_hidden_layers=3), recipe.tokens(12, 57, 3), {
    "vocab_size": [70], "hidden_size": [36], "intermediate_size": [20], "num_hidden_layers": [1, 4], "num_attention_heads": [6, 2],
    "num_key_value_heads": [3], "lru_width": [24, None], "attention_window_size": [64], "conv1d_width": [2, 6], "logits_soft_cap": [1.0],
    "rms_norm_eps": [0.1], "hidden_activation": ["gelu", "silu"], "rope_theta": [100.0], "attention_bias": [True], "tie_word_embeddings": [False],
    "block_types": [["attention"], ["recurrent", "attention"]], "attention_dropout": [0.5], "w_init_variance_scale": [0.5], "use_cache": [False],
})
