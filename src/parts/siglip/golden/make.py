"""Goldens of SigLIP's vision tower from transformers' SiglipVisionModel, and of the embedder from diffusers' ReduxImageEncoder.
python src/parts/siglip/golden/make.py

Made with torch 2.15.0, transformers 4.57.1, diffusers 0.39.0. perturbed.safetensors holds one base configuration with one key changed at a time.
"""
import json
import sys
from pathlib import Path

import diffusers
import torch
import transformers
from diffusers.pipelines.flux.modeling_flux import ReduxImageEncoder
from transformers import SiglipConfig, SiglipVisionConfig, SiglipVisionModel

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"transformers {transformers.__version__}, diffusers {diffusers.__version__}, torch {torch.__version__}"
SMALL = dict(hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=3, image_size=20, patch_size=5)

# name: (config, batch, weight factor)
CASES = {
    "small": (SMALL, 2, 1.0),
    # a side that is not a multiple of the patch, an odd head size, exact GELU, other channels
    "rest": (dict(hidden_size=21, intermediate_size=10, num_hidden_layers=2, num_attention_heads=3, image_size=27, patch_size=4, num_channels=2,
                  hidden_act="gelu"), 1, 1.0),
    # one patch
    "one": (dict(hidden_size=8, intermediate_size=12, num_hidden_layers=1, num_attention_heads=1, image_size=7, patch_size=6), 3, 1.0),
    # weights × 0.02: every norm sees a small variance, so that a wrong eps shows
    "faint": (dict(SMALL, num_hidden_layers=2), 1, 0.02),
}


def tapped(name):
    return name in ("vision_model.embeddings", "vision_model.post_layernorm") or name.startswith("vision_model.encoder.layers.") and name.split(".")[-1].isdigit()


def run(config, b, factor, taps):
    net = golden.prepare(SiglipVisionModel(SiglipVisionConfig(**config)), factor)
    tap = golden.Taps(net, tapped) if taps else None
    c = net.config
    with torch.no_grad():
        out = net(golden.image("input.image", b, c.image_size, c.image_size, c.num_channels))
    return net, {"states": out.last_hidden_state.float().numpy()}, tap.arrays if tap else {}


def config_json(net):
    net.config.architectures = [type(net).__name__]
    return json.loads(net.config.to_json_string(use_diff=False))


def cases():
    for name, (config, b, factor) in CASES.items():
        net, arrays, taps = run(config, b, factor, True)
        golden.save(HERE, name, {**arrays, **taps}, config_json(net), VERSIONS, batch=b, factor=factor)


BASE = (dict(hidden_size=12, intermediate_size=20, num_hidden_layers=2, num_attention_heads=2, image_size=8, patch_size=3), 1, 1.0)
CHANGES = {
    "hidden_size": [16],
    "intermediate_size": [24],
    "num_hidden_layers": [1, 3],
    "num_attention_heads": [1, 4],
    "num_channels": [1],
    "image_size": [9, 10],
    "patch_size": [2, 4],
    "hidden_act": ["gelu", "gelu_new", "quick_gelu", "relu", "silu"],
    "layer_norm_eps": [0.1],
    "attention_dropout": [0.5],
    "vision_use_head": [False],
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


def redux():
    net = golden.prepare(ReduxImageEncoder(redux_dim=10, txt_in_features=7), 1.0)
    with torch.no_grad():
        y = net(torch.from_numpy(golden.values("input.states", 2, 5, 10)).double()).image_embeds
    golden.save(HERE, "redux", {"rows": y.float().numpy()}, json.loads(net.to_json_string()), VERSIONS, states=[2, 5, 10], factor=1.0)


# image_encoder/config.json of the published Redux; the tower of google/siglip-so400m-patch14-384.
SO400M = dict(_name_or_path="google/siglip-so400m-patch14-384", architectures=["SiglipVisionModel"], attention_dropout=0.0, hidden_act="gelu_pytorch_tanh",
              hidden_size=1152, image_size=384, intermediate_size=4304, layer_norm_eps=1e-06, model_type="siglip_vision_model", num_attention_heads=16,
              num_channels=3, num_hidden_layers=27, patch_size=14, torch_dtype="bfloat16", transformers_version="4.47.0.dev0")


class States(torch.nn.Module):
    """The tower without its pooling head."""

    def __init__(self, net):
        super().__init__()
        self.vision_model = net.vision_model
        del self.vision_model.head
        self.vision_model.use_head = False

    def forward(self, x):
        return self.vision_model(x).last_hidden_state


def structures():
    with torch.device("meta"):
        net = SiglipVisionModel(SiglipVisionConfig(**{key: value for key, value in SO400M.items() if key not in ("torch_dtype", "architectures")}))
        golden.save_structure(HERE, "so400m", States(net), VERSIONS, torch.zeros(1, 3, 384, 384), **SO400M)
        golden.save_structure(HERE, "redux", ReduxImageEncoder(), VERSIONS, torch.zeros(1, 729, 1152), _class_name="ReduxImageEncoder",
                              _diffusers_version="0.32.0.dev0", redux_dim=1152, txt_in_features=4096)


def defaults():
    golden.save_defaults(HERE, json.loads(SiglipVisionConfig().to_json_string(use_diff=False)))
    whole = SiglipConfig(vision_config=dict(SMALL))
    (HERE / "whole.json").write_text(json.dumps(json.loads(whole.to_json_string()), indent=0, sort_keys=True) + "\n")


structures()
defaults()
torch.set_default_dtype(torch.float64)
cases()
perturbed()
redux()
