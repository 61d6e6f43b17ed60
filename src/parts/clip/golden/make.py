"""Goldens of the CLIP text tower from transformers' CLIPTextModel and CLIPTextModelWithProjection.
python src/parts/clip/golden/make.py

Made with torch 2.15.0, transformers 4.57.1. perturbed.safetensors holds one base configuration with one key changed at a time.
"""
import json
import sys
from pathlib import Path

import torch
import transformers
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"transformers {transformers.__version__}, torch {torch.__version__}"
SMALL = dict(vocab_size=50, max_position_embeddings=11, bos_token_id=48, eos_token_id=49, pad_token_id=49)

# name: (class, config, token ids, weight factor)
CASES = {
    # two sentences, padded with the end token: the first end token is pooled
    "clip_l": (CLIPTextModel, dict(SMALL, hidden_size=24, intermediate_size=48, num_hidden_layers=3, num_attention_heads=3, projection_dim=24),
               [[48, 3, 17, 22, 5, 1, 49, 49, 49, 49, 49], [48, 30, 49, 49, 49, 49, 49, 49, 49, 49, 49]], 1.0),
    # exact GELU and a projection to another width; eos_token_id 2 pools at the highest id, here an added token behind the end
    "projected": (CLIPTextModelWithProjection,
                  dict(SMALL, eos_token_id=2, pad_token_id=0, hidden_size=16, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
                       projection_dim=10, hidden_act="gelu", vocab_size=60),
                  [[48, 55, 2, 49, 0, 0, 0], [48, 12, 2, 11, 49, 0, 0]], 1.0),
    # the tanh form, a short row without end token, an eps that shows
    "short": (CLIPTextModel, dict(SMALL, hidden_size=8, intermediate_size=12, num_hidden_layers=1, num_attention_heads=1, projection_dim=8,
                                  hidden_act="gelu_new", layer_norm_eps=0.01), [[7], [9], [48]], 1.0),
    # weights × 0.03: every norm sees a small variance, so that a wrong eps shows
    "faint": (CLIPTextModel, dict(SMALL, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, projection_dim=16),
              [[48, 4, 21, 9, 49]], 0.03),
}

# What follows the end token is hidden (attention_mask), also where it is no end token.
HIDDEN = {
    "hidden": (CLIPTextModelWithProjection, dict(SMALL, pad_token_id=0, hidden_size=16, intermediate_size=24, num_hidden_layers=3, num_attention_heads=2,
                                                 projection_dim=6, hidden_act="gelu"),
               [[48, 3, 17, 49, 0, 0, 0], [48, 49, 0, 0, 0, 0, 0], [48, 5, 8, 9, 10, 11, 49]], 1.0),
}


def tapped(name):
    return name in ("text_model.embeddings", "text_model.final_layer_norm") or name.startswith("text_model.encoder.layers.") and name.split(".")[-1].isdigit()


def run(cls, config, ids, factor, taps, hides=False):
    net = golden.prepare(cls(CLIPTextConfig(**config)), factor)
    tap = golden.Taps(net, tapped) if taps else None
    with torch.no_grad():
        mask = torch.tensor([[int(t <= row.index(config["eos_token_id"])) for t in range(len(row))] for row in ids]) if hides else None
        full = torch.full
        if hides:  # the reference makes the mask of f64 with an f32 function
            torch.full = lambda *args, **options: full(*args, **options, dtype=torch.float64)
        out = net(torch.tensor(ids), attention_mask=mask, output_hidden_states=True)
        torch.full = full
    arrays = {"last_hidden_state": out.last_hidden_state, "hidden_states": torch.stack(out.hidden_states)}
    if cls is CLIPTextModel:
        arrays["pooled"] = out.pooler_output
    else:
        arrays["text_embeds"] = out.text_embeds
    return net, {key: value.float().numpy() for key, value in arrays.items()}, tap.arrays if tap else {}


def config_json(net):
    """The complete config.json, defaults of every transformers model included, as old releases wrote it."""
    net.config.architectures = [type(net).__name__]
    return json.loads(net.config.to_json_string(use_diff=False))


def cases():
    for name, (cls, config, ids, factor) in CASES.items():
        net, arrays, taps = run(cls, config, ids, factor, True)
        golden.save(HERE, name, {**arrays, **taps}, config_json(net), VERSIONS, ids=ids, factor=factor)
    for name, (cls, config, ids, factor) in HIDDEN.items():
        net, arrays, taps = run(cls, config, ids, factor, True, hides=True)
        golden.save(HERE, name, {**arrays, **taps}, config_json(net), VERSIONS, ids=ids, factor=factor)


BASE = (CLIPTextModelWithProjection, dict(SMALL, hidden_size=12, intermediate_size=20, num_hidden_layers=2, num_attention_heads=2, projection_dim=6),
        [[48, 3, 17, 22, 49, 49], [48, 2, 33, 8, 9, 49]], 1.0)
CHANGES = {
    "vocab_size": [55],
    "max_position_embeddings": [6],
    "hidden_size": [16],
    "intermediate_size": [24],
    "num_hidden_layers": [1, 3],
    "num_attention_heads": [1, 4],
    "projection_dim": [5],
    "hidden_act": ["gelu", "gelu_python", "gelu_new", "gelu_fast", "gelu_accurate", "gelu_pytorch_tanh", "gelu_python_tanh", "silu", "swish", "relu"],
    "layer_norm_eps": [0.1],
    "eos_token_id": [2, 33, 47],
    "attention_dropout": [0.5],
    "initializer_factor": [2.0],
    "initializer_range": [0.1],
    "pad_token_id": [0],
    "bos_token_id": [0],
}


def perturbed():
    cls, config, ids, factor = BASE
    net, base, _ = run(cls, config, ids, factor, False)
    arrays, changes = {f"base.{key}": value for key, value in base.items()}, []
    for key, alternatives in CHANGES.items():
        for value in alternatives:
            _, y, _ = run(cls, {**config, key: value}, ids, factor, False)
            arrays.update({f"{len(changes)}.{name}": array for name, array in y.items()})
            changes.append({"key": key, "value": value, "same": all(golden.same(y[name], base[name]) for name in y)})
            print("  same" if changes[-1]["same"] else "  other", key, value)
    golden.save(HERE, "perturbed", arrays, config_json(net), VERSIONS, changes=changes, ids=ids, factor=factor)


# The published text_encoder/config.json of Stable Diffusion 1.5.
SD15 = dict(_name_or_path="openai/clip-vit-large-patch14", architectures=["CLIPTextModel"], attention_dropout=0.0, bos_token_id=0, dropout=0.0,
            eos_token_id=2, hidden_act="quick_gelu", hidden_size=768, initializer_factor=1.0, initializer_range=0.02, intermediate_size=3072,
            layer_norm_eps=1e-05, max_position_embeddings=77, model_type="clip_text_model", num_attention_heads=12, num_hidden_layers=12,
            pad_token_id=1, projection_dim=768, torch_dtype="float32", transformers_version="4.22.0.dev0", vocab_size=49408)


def structures():
    with torch.device("meta"):
        net = CLIPTextModel(CLIPTextConfig(**{key: value for key, value in SD15.items() if key not in ("torch_dtype", "architectures")}))
        golden.save_structure(HERE, "sd15", net, VERSIONS, torch.zeros(1, 77, dtype=torch.int64), **SD15)


structures()
golden.save_defaults(HERE, json.loads(CLIPTextConfig().to_json_string(use_diff=False)))
torch.set_default_dtype(torch.float64)  # the causal mask takes its type from here
cases()
perturbed()
