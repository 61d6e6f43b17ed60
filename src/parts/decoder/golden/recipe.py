"""What the recipes of the decoder families share: src/models/*/golden/make.py.

A case is a config, token ids and how many tokens to go on greedily: <name>.safetensors has the logits of every position (of every k-th, where
there are many), taps of the layers, and in its facts the config.json and the greedy tokens. Networks run in float64 with name-derived
weights; transformers computes norms' statistics, angles and softmax in float32 all the same.
"""
import copy
import json
import sys
from pathlib import Path

import torch
import transformers

sys.path.insert(0, str(Path(__file__).parents[4] / "tools"))
import golden  # noqa: E402
import name_weights  # noqa: E402

torch.set_default_dtype(torch.float64)
VERSIONS = f"transformers {transformers.__version__}, torch {torch.__version__}"


def execute_in_double(module, *corrections):
    """Runs the module's source again with float64 in the place of float32. corrections: (wrong, right), pieces of the source."""
    source = module.__spec__.loader.get_source(module.__name__)
    for wrong, right in (*corrections, ("torch.float32", "torch.float64"), (".float()", ".double()")):
        assert wrong in source, wrong
        source = source.replace(wrong, right)
    exec(compile(source, module.__spec__.origin, "exec"), module.__dict__)


def tokens(count, vocabulary, seed=1):
    """The ids of a text: a fixed sequence without structure."""
    ids, state = [], seed
    for _ in range(count):
        state = (state * 1103515245 + 12345) % 2**31
        ids.append((state >> 8) % vocabulary)
    return ids


def network(cls, config, scaled=None):
    """`scaled`: (part of a name, factor), for tensors that are multiplied."""
    config._attn_implementation = "eager"
    net = cls(config).float().eval()
    with torch.no_grad():
        for name, value in reversed(net.state_dict().items()):  # a tensor of several names has the values of the first
            if value.is_floating_point():
                value.copy_(torch.from_numpy(name_weights.tensor(name, tuple(value.shape))))
        for name, value in net.state_dict().items():
            if scaled and scaled[0] in name:
                value.mul_(scaled[1])
    return net.double()


def tapped(name):
    ends = ("model.embed_tokens", "model.norm", "backbone.embeddings", "backbone.norm_f", "model.final_layernorm")
    return name in ends or name.startswith(("model.layers.", "backbone.layers.")) and name.count(".") == 2


def logits(net, ids):
    with torch.no_grad():
        return net(torch.tensor([ids]), use_cache=False).logits[0].float().numpy()


def greedy(net, ids, count, cached=True):
    """The next `count` tokens, each by the largest logit. And the smallest lead of a first over a second. Not cached: each by a run over all
    that is there."""
    out, lead, state = [], float("inf"), None
    with torch.no_grad():
        feed = torch.tensor([ids])
        for _ in range(count):
            if cached:
                y = net(feed, past_key_values=state, use_cache=True)
                state = y.past_key_values
            else:
                y = net(torch.tensor([ids + out]), use_cache=False)
            best = y.logits[0, -1].topk(2)
            lead = min(lead, float(best.values[0] - best.values[1]))
            out.append(int(best.indices[0]))
            feed = torch.tensor([[out[-1]]])
    return out, lead


def config_json(net):
    net.config.architectures = [type(net).__name__]
    return json.loads(net.config.to_json_string(use_diff=False))


def shapes(net):
    return {name: list(value.shape) for name, value in net.state_dict().items()}


def difference(a, b):
    """What makes b of a: a JSON merge patch."""
    return {**{key: None for key in a if key not in b}, **{key: value for key, value in b.items() if a.get(key) != value}}


def case(folder, name, cls, config, ids, continue_for=0, thin=1, json_config=None, taps=tapped, scaled=None, cached=True):
    net = network(cls, config, scaled)
    tap = golden.Taps(net, taps)
    y = logits(net, ids)
    taps = dict(tap.arrays)
    more, lead = greedy(net, ids, continue_for, cached) if continue_for else ([], 0)
    if continue_for:
        print(f"  {name}: smallest lead of a greedy token {lead:.2e}")
    golden.save(folder, name, {"logits": y[::thin], **taps}, json_config or config_json(net), VERSIONS, ids=ids, factor=1.0, thin=thin, greedy=more,
                **({"shapes": shapes(net)} if scaled else {}))


def perturbed(folder, cls, config_cls, base, ids, changes, name="perturbed", drop=(), scaled=None):
    """One base configuration with one key changed at a time. `drop`: keys that config.json lacks."""
    net = network(cls, config_cls(**base), scaled)
    y = logits(net, ids)
    arrays, told = {"base": y}, []
    for key, values in changes.items():
        for value in values:
            other = network(cls, config_cls(**{**base, key: copy.deepcopy(value)}), scaled)
            z = logits(other, ids)
            arrays[f"{len(told)}"] = z
            told.append({"key": key, "value": value, "same": golden.same(z, y), **({"shapes": difference(shapes(net), shapes(other))} if scaled else {})})
            print("  same" if told[-1]["same"] else "  other", key, value)
    stated = {key: value for key, value in config_json(net).items() if key not in drop}
    golden.save(folder, name, arrays, stated, VERSIONS, changes=told, ids=ids, factor=1.0, **({"shapes": shapes(net)} if scaled else {}))
