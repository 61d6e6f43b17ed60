"""Goldens of BERT's encoder from transformers' BertModel.   python src/parts/bert/golden/make.py

Made with torch 2.15.0, transformers 4.57.1. perturbed.safetensors holds one base configuration with one key changed at a time.
"""
import json
import sys
from pathlib import Path

import torch
import transformers
from transformers import BertConfig, BertModel

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"transformers {transformers.__version__}, torch {torch.__version__}"
SMALL = dict(vocab_size=50, hidden_size=24, num_hidden_layers=3, num_attention_heads=3, intermediate_size=40, max_position_embeddings=20)


def sentence(seed, length):
    return [2] + [(seed + 7 * i * i) % 45 + 4 for i in range(length - 2)] + [3]


def padded(ids, length):
    return ids + [0] * (length - len(ids))


# name: (config, token ids, valid lengths or None, weight factor)
CASES = {
    # two rows of several lengths, padding masked
    "masked": (SMALL, [padded(sentence(3, 17), 20), padded(sentence(11, 5), 20)], [17, 5], 1.0),
    # no mask, an odd head size, another activation
    "whole": (dict(SMALL, hidden_size=21, hidden_act="gelu_new", num_hidden_layers=2), [sentence(5, 9)], None, 1.0),
    # weights × 0.001: every norm but the first sees a small variance, so that a wrong eps shows
    "faint": (dict(SMALL, num_hidden_layers=2, layer_norm_eps=1e-8), [sentence(8, 6)], None, 1e-3),
}


def tapped(name):
    return name == "embeddings" or name.startswith("encoder.layer.") and name.count(".") == 2


def run(config, ids, lengths, factor, taps):
    net = golden.prepare(BertModel(BertConfig(**config, attn_implementation="eager"), add_pooling_layer=False), factor)
    tap = golden.Taps(net, tapped) if taps else None
    mask = None if lengths is None else torch.tensor([[int(t < n) for t in range(len(ids[0]))] for n in lengths])
    with torch.no_grad():
        y = net(torch.tensor(ids), attention_mask=mask).last_hidden_state
    return net, y.numpy(), tap.arrays if tap else {}


def config_json(net):
    net.config.architectures = [type(net).__name__]
    return json.loads(net.config.to_json_string(use_diff=False))


def cases():
    for name, (config, ids, lengths, factor) in CASES.items():
        net, y, taps = run(config, ids, lengths, factor, True)
        golden.save(HERE, name, {"y": y, **taps}, config_json(net), VERSIONS, ids=ids, lengths=lengths or [], factor=factor)


BASE = (dict(vocab_size=50, hidden_size=12, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20, max_position_embeddings=16),
        [sentence(3, 14)], None, 1.0)
CHANGES = {
    "vocab_size": [55],
    "hidden_size": [16],
    "num_hidden_layers": [1, 3],
    "num_attention_heads": [1, 3],
    "intermediate_size": [24],
    "max_position_embeddings": [14],
    "type_vocab_size": [1, 5],
    "hidden_act": ["gelu_new", "relu", "silu"],
    "layer_norm_eps": [0.1],
    "hidden_dropout_prob": [0.5],
    "attention_probs_dropout_prob": [0.5],
    "classifier_dropout": [0.5],
    "initializer_range": [0.5],
    "pad_token_id": [3],
    "use_cache": [False],
}


def perturbed():
    config, *rest = BASE
    net, base, _ = run(config, *rest, False)
    arrays, changes = {"base": base}, []
    for key, alternatives in CHANGES.items():
        for value in alternatives:
            _, y, _ = run({**config, key: value}, *rest, False)
            arrays[str(len(changes))] = y
            changes.append({"key": key, "value": value, "same": golden.same(y, base)})
            print("  same" if changes[-1]["same"] else "  other", key, value)
    ids, lengths, factor = rest
    golden.save(HERE, "perturbed", arrays, config_json(net), VERSIONS, changes=changes, ids=ids, lengths=[], factor=factor)


# The text_encoder/config.json of Hunyuan-DiT.
BILINGUAL = dict(architectures=["BertModel"], attention_probs_dropout_prob=0.1, bos_token_id=0, classifier_dropout=None, directionality="bidi", eos_token_id=2,
                 hidden_act="gelu", hidden_dropout_prob=0.1, hidden_size=1024, initializer_range=0.02, intermediate_size=4096, layer_norm_eps=1e-12,
                 max_position_embeddings=512, model_type="bert", num_attention_heads=16, num_hidden_layers=24, output_past=True, pad_token_id=0,
                 pooler_fc_size=768, pooler_num_attention_heads=12, pooler_num_fc_layers=3, pooler_size_per_head=128, pooler_type="first_token_transform",
                 position_embedding_type="absolute", type_vocab_size=2, use_cache=True, vocab_size=47020)


def structures():
    with torch.device("meta"):
        own = {key: value for key, value in BILINGUAL.items() if key not in ("architectures", "model_type")}
        net = BertModel(BertConfig(**own, attn_implementation="eager"), add_pooling_layer=False)
        golden.save_structure(HERE, "bilingual", net, VERSIONS, torch.zeros(1, 77, dtype=torch.int64), torch.ones(1, 77), **BILINGUAL)


structures()
(HERE / "defaults.json").write_text(json.dumps(json.loads(BertConfig().to_json_string(use_diff=False)), indent=0, sort_keys=True) + "\n")
torch.set_default_dtype(torch.float64)  # the mask takes its type from here
cases()
perturbed()
