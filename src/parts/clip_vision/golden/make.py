"""Goldens of CLIP's vision tower from transformers' CLIPVisionModelWithProjection.
python src/parts/clip_vision/golden/make.py

Made with torch 2.15.0, transformers 4.57.1. perturbed.safetensors holds one base configuration with one key changed at a time.
"""
import json
import sys
from pathlib import Path

import torch
import transformers
from transformers import CLIPConfig, CLIPVisionConfig, CLIPVisionModelWithProjection

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"transformers {transformers.__version__}, torch {torch.__version__}"
SMALL = dict(hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=3, image_size=20, patch_size=5, projection_dim=10)

# name: (config, batch, weight factor)
CASES = {
    "small": (SMALL, 2, 1.0),
    # a side that is not a multiple of the patch, an odd head size, exact GELU, other channels
    "rest": (dict(hidden_size=21, intermediate_size=10, num_hidden_layers=2, num_attention_heads=3, image_size=27, patch_size=4, num_channels=2,
                  hidden_act="gelu", projection_dim=5), 1, 1.0),
    # one patch, one layer: the penultimate states are the embeddings
    "one": (dict(hidden_size=8, intermediate_size=12, num_hidden_layers=1, num_attention_heads=1, image_size=7, patch_size=6, projection_dim=3), 3, 1.0),
    # weights × 0.02: every norm sees a small variance, so that a wrong eps shows
    "faint": (dict(SMALL, num_hidden_layers=2), 1, 0.02),
}


def tapped(name):
    return name in ("vision_model.embeddings", "vision_model.pre_layrnorm", "vision_model.post_layernorm") \
        or name.startswith("vision_model.encoder.layers.") and name.split(".")[-1].isdigit()


def run(config, b, factor, taps):
    net = golden.prepare(CLIPVisionModelWithProjection(CLIPVisionConfig(**config)), factor)
    tap = golden.Taps(net, tapped) if taps else None
    c = net.config
    with torch.no_grad():
        out = net(golden.image("input.image", b, c.image_size, c.image_size, c.num_channels), output_hidden_states=True)
    arrays = {"embeds": out.image_embeds, "penultimate": out.hidden_states[-2]}
    return net, {key: value.float().numpy() for key, value in arrays.items()}, tap.arrays if tap else {}


def config_json(net):
    net.config.architectures = [type(net).__name__]
    return json.loads(net.config.to_json_string(use_diff=False))


def cases():
    for name, (config, b, factor) in CASES.items():
        net, arrays, taps = run(config, b, factor, True)
        golden.save(HERE, name, {**arrays, **taps}, config_json(net), VERSIONS, batch=b, factor=factor)


BASE = (dict(hidden_size=12, intermediate_size=20, num_hidden_layers=2, num_attention_heads=2, image_size=8, patch_size=3, projection_dim=4), 1, 1.0)
CHANGES = {
    "hidden_size": [16],
    "intermediate_size": [24],
    "num_hidden_layers": [1, 3],
    "num_attention_heads": [1, 4],
    "num_channels": [1],
    "image_size": [9, 10],
    "patch_size": [2, 4],
    "projection_dim": [6],
    "hidden_act": ["gelu", "gelu_new", "relu", "silu"],
    "layer_norm_eps": [0.1],
    "attention_dropout": [0.5],
}


def perturbed():
    config, b, factor = BASE
    net, base, _ = run(config, b, factor, False)
    arrays, changes = {f"base.{key}": value for key, value in base.items()}, []
    for key, alternatives in CHANGES.items():
        for value in alternatives:
            _, y, _ = run({**config, key: value}, b, factor, False)
            arrays.update({f"{len(changes)}.{name}": array for name, array in y.items()})
            changes.append({"key": key, "value": value, "same": all(golden.same(y[name], base[name]) for name in y)})
            print("  same" if changes[-1]["same"] else "  other", key, value)
    golden.save(HERE, "perturbed", arrays, config_json(net), VERSIONS, changes=changes, batch=b, factor=factor)


# config.json of the published encoders of IP-Adapter: models/image_encoder (LAION's ViT-H/14) and sdxl_models/image_encoder (ViT-bigG/14).
COMMON = dict(architectures=["CLIPVisionModelWithProjection"], attention_dropout=0.0, dropout=0.0, hidden_act="gelu", image_size=224, initializer_factor=1.0,
              initializer_range=0.02, layer_norm_eps=1e-05, model_type="clip_vision_model", num_attention_heads=16, num_channels=3, patch_size=14,
              torch_dtype="float16")
PUBLISHED = {
    "vit_h": dict(COMMON, hidden_size=1280, intermediate_size=5120, num_hidden_layers=32, projection_dim=1024, transformers_version="4.28.0.dev0"),
    "vit_bigg": dict(COMMON, hidden_size=1664, intermediate_size=8192, num_hidden_layers=48, projection_dim=1280, transformers_version="4.24.0"),
}


class Embeds(torch.nn.Module):
    def __init__(self, net):
        super().__init__()
        self.vision_model, self.visual_projection = net.vision_model, net.visual_projection

    def forward(self, x):
        return self.visual_projection(self.vision_model(x).pooler_output)


def structures():
    for name, config in PUBLISHED.items():
        with torch.device("meta"):
            net = CLIPVisionModelWithProjection(CLIPVisionConfig(**{k: v for k, v in config.items() if k not in ("torch_dtype", "architectures")}))
            golden.save_structure(HERE, name, Embeds(net), VERSIONS, torch.zeros(1, 3, 224, 224), **config)


def defaults():
    golden.save_defaults(HERE, json.loads(CLIPVisionConfig().to_json_string(use_diff=False)))
    whole = CLIPConfig(vision_config=dict(SMALL), projection_dim=9)
    (HERE / "whole.json").write_text(json.dumps(json.loads(whole.to_json_string()), indent=0, sort_keys=True) + "\n")


structures()
defaults()
torch.set_default_dtype(torch.float64)
cases()
perturbed()
