"""Goldens of ControlNets from diffusers' ControlNetModel and ControlNetUnionModel, and of a UNet that receives their residuals.

    python src/parts/controlnet/golden/make.py

Made with torch 2.15.0, diffusers 0.39.0. Writes one file per configuration, names.json (the names of the authors' layout) and
perturbed.safetensors: one base configuration with one key changed at a time.
"""
import inspect
import json
import sys
from pathlib import Path

import diffusers
import torch
from diffusers import ControlNetModel, ControlNetUnionModel, UNet2DConditionModel
from diffusers.loaders.single_file_utils import convert_controlnet_checkpoint

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"diffusers {diffusers.__version__}, torch {torch.__version__}"
SD1 = dict(block_out_channels=[8, 16, 24], layers_per_block=2, norm_num_groups=4, attention_head_dim=2, cross_attention_dim=12,
           down_block_types=["CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"], conditioning_embedding_out_channels=[4, 6, 8, 10])
SD2 = dict(block_out_channels=[8, 16, 16, 32], layers_per_block=1, norm_num_groups=8, num_attention_heads=[1, 2, 4, 8], attention_head_dim=5,
           cross_attention_dim=20, use_linear_projection=True, conditioning_embedding_out_channels=[3, 5], act_fn="gelu", norm_eps=1e-3,
           controlnet_conditioning_channel_order="bgr", flip_sin_to_cos=False, freq_shift=1, mid_block_scale_factor=1.5)
XL = dict(down_block_types=["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"], block_out_channels=[8, 16, 16], layers_per_block=2,
          norm_num_groups=4, attention_head_dim=[1, 2, 4], transformer_layers_per_block=[1, 2, 3], cross_attention_dim=24, use_linear_projection=True,
          addition_embed_type="text_time", addition_time_embed_dim=6, projection_class_embeddings_input_dim=46,
          conditioning_embedding_out_channels=[4, 6, 8, 10])
# All blocks without attention, as the small networks of XL have it.
SMALL = {**XL, "down_block_types": ["DownBlock2D"] * 3, "mid_block_type": "UNetMidBlock2D", "transformer_layers_per_block": 1}
UNION = {**XL, "num_control_type": 6, "num_trans_channel": 8, "num_trans_head": 2, "num_trans_layer": 2, "num_proj_channel": 8}
UNET_KEYS = set(inspect.signature(UNet2DConditionModel.__init__).parameters)
SIZES = [[1024, 768, 0, 0, 1024, 768], [512, 640, 13, 7.5, 1024, 1024]]

# name: (class, config, batch, height, width, timesteps, tokens, factor of the image, more)
CASES = {
    "sd1": (ControlNetModel, SD1, 2, 8, 6, [999.0, 1.0], 5, {}),
    "sd2": (ControlNetModel, SD2, 2, 7, 5, [451.37], 3, {}),
    "pools": (ControlNetModel, {**SD1, "global_pool_conditions": True}, 1, 6, 6, [37.0], 4, {}),
    "xl": (ControlNetModel, XL, 2, 6, 8, [999.0, 321.5], 5, dict(sizes=SIZES)),
    "small": (ControlNetModel, SMALL, 1, 6, 4, [10.0], 3, dict(sizes=SIZES[:1])),
    "union": (ControlNetUnionModel, UNION, 1, 6, 8, [700.0], 5, dict(sizes=SIZES[:1], types=[3], weights=[1.0])),
    "union_two": (ControlNetUnionModel, UNION, 1, 6, 8, [700.0], 5, dict(sizes=SIZES[:1], types=[1, 4], weights=[0.7, 1.2])),
}


def tapped(name):
    parent, _, last = name.rpartition(".")
    block = parent.rpartition(".")[2] in ("down_blocks", "resnets", "attentions")
    return block and last.isdigit() or name in ("time_embedding", "mid_block")  # conv_in and the hint are one product here


def inputs_of(net, b, h, w, tokens, more):
    cross = net.config.cross_attention_dim
    factor = 2 ** (len(net.config.conditioning_embedding_out_channels) - 1) if hasattr(net.config, "conditioning_embedding_out_channels") else 8
    context = torch.from_numpy(golden.values("input.context", b, tokens, cross)).double()
    given = {}
    if more.get("sizes"):
        pooled = net.config.projection_class_embeddings_input_dim - len(more["sizes"][0]) * net.config.addition_time_embed_dim
        given["added_cond_kwargs"] = dict(text_embeds=torch.from_numpy(golden.values("input.pooled", b, pooled)).double(),
                                          time_ids=torch.tensor(more["sizes"], dtype=torch.float64))
    images = [golden.image(f"input.image{k}", 1, h * factor, w * factor, 3).abs().repeat(b, 1, 1, 1) for k in range(len(more.get("types", [0])))]
    return golden.image("input.x", b, h, w, net.config.in_channels), context, given, images


def control(cls, config, b, h, w, timesteps, tokens, more, scale=1.0, guess=False, taps=False):
    net = golden.prepare(cls.from_config(dict(config)))
    tap = golden.Taps(net, tapped) if taps else None
    x, context, given, images = inputs_of(net, b, h, w, tokens, more)
    t = torch.tensor(timesteps, dtype=torch.float64)
    with torch.no_grad():
        if cls is ControlNetUnionModel:
            types = torch.zeros(b, net.config.num_control_type, dtype=torch.float64)
            types[:, more["types"]] = 1
            many = len(more["types"]) > 1
            down, mid = net(x, t, context, images, types, more["types"], more["weights"] if many else [scale], guess_mode=guess, return_dict=False, **given)
        else:
            down, mid = net(x, t, context, images[0], scale, guess_mode=guess, return_dict=False, **given)
    return net, [*down, mid], tap.arrays if tap else {}


def cases():
    for name, (cls, config, b, h, w, timesteps, tokens, more) in CASES.items():
        net, residuals, taps = control(cls, config, b, h, w, timesteps, tokens, more, taps=True)
        arrays = {f"residual.{i}": golden.channels_last(r) for i, r in enumerate(residuals)} | taps
        if len(more.get("types", [0])) == 1:
            guessed = control(cls, config, b, h, w, timesteps, tokens, more, scale=0.6, guess=True)[1]
            arrays |= {f"guessed.{i}": golden.channels_last(r) for i, r in enumerate(guessed)}
        if name in ("sd1", "pools", "xl"):  # what a UNet makes of them
            attends = [t.startswith("Cross") for t in config["down_block_types"]]
            up = ["CrossAttnUpBlock2D" if a else "UpBlock2D" for a in reversed(attends)]
            shared = {k: v for k, v in config.items() if k in UNET_KEYS}
            unet = golden.prepare(UNet2DConditionModel.from_config({**shared, "up_block_types": up}))
            x, context, given, _ = inputs_of(net, b, h, w, tokens, more)
            with torch.no_grad():
                y = unet(x, torch.tensor(timesteps, dtype=torch.float64), context, down_block_additional_residuals=residuals[:-1],
                         mid_block_additional_residual=residuals[-1], **given).sample
            arrays["y"] = golden.channels_last(y)
            more = {**more, "unet": json.loads(unet.to_json_string())}
        golden.save(HERE, name, arrays, json.loads(net.to_json_string()), VERSIONS, batch=b, height=h, width=w, timesteps=timesteps, tokens=tokens,
                    factor=1.0, **more)


BASE = (ControlNetModel, dict(SD1, layers_per_block=1, block_out_channels=[8, 16], down_block_types=["CrossAttnDownBlock2D"] * 2,
                              conditioning_embedding_out_channels=[3, 5]), 1, 5, 4, [321.0], 3, {})
CHANGES = {
    "flip_sin_to_cos": [False],
    "freq_shift": [1],
    "down_block_types": [["DownBlock2D", "CrossAttnDownBlock2D"]],
    "mid_block_type": ["UNetMidBlock2D"],
    "only_cross_attention": [True, [False, True]],
    "layers_per_block": [2],
    "downsample_padding": [0],
    "mid_block_scale_factor": [2],
    "act_fn": ["gelu", "relu"],
    "norm_num_groups": [2],
    "norm_eps": [0.1],
    "transformer_layers_per_block": [2, [1, 2]],
    "attention_head_dim": [1, [2, 4]],
    "num_attention_heads": [4, [2, 4]],
    "use_linear_projection": [True],
    "upcast_attention": [True],
    "addition_time_embed_dim": [256],
    "projection_class_embeddings_input_dim": [128],
    "addition_embed_type_num_heads": [32],
    "controlnet_conditioning_channel_order": ["bgr"],
    "conditioning_embedding_out_channels": [[4, 6]],
    "global_pool_conditions": [True],
}


def perturbed():
    cls, config, *rest = BASE
    net, base, _ = control(cls, config, *rest)
    last = lambda all_: golden.channels_last(all_[-1])  # noqa: E731
    full = json.loads(net.to_json_string())
    arrays, changes = {"base": last(base)}, []
    for key, alternatives in CHANGES.items():
        for value in alternatives:
            y = last(control(cls, {**config, key: value}, *rest)[1])
            changes.append({"key": key, "value": value, "same": golden.same(y, arrays["base"])})
            arrays[f"y.{len(changes) - 1}"] = y
    for change in changes:
        print("  same" if change["same"] else "  other", change["key"], change["value"])
    b, h, w, timesteps, tokens, _ = rest
    golden.save(HERE, "perturbed", arrays, full, VERSIONS, changes=changes, batch=b, height=h, width=w, timesteps=timesteps, tokens=tokens, factor=1.0)


# Names of the authors' layout and what diffusers' converter makes of them. It cannot read the added embedding of XL, whose names follow the
# UNet's.
def names():
    config = dict(SD1, conditioning_embedding_out_channels=[16, 32, 96, 256])
    net = ControlNetModel.from_config(config)
    official = {k: list(v.shape) for k, v in net.state_dict().items()}
    stored = {}
    resnet = {"norm1": "in_layers.0", "conv1": "in_layers.2", "time_emb_proj": "emb_layers.1", "norm2": "out_layers.0", "conv2": "out_layers.3",
              "conv_shortcut": "skip_connection"}
    layers, levels = config["layers_per_block"], len(config["block_out_channels"])
    for name, shape in official.items():
        p = name.split(".")
        if p[0] == "down_blocks":
            at = 1 + int(p[1]) * (layers + 1)
            if p[2] == "downsamplers":
                new = ["input_blocks", str(at + layers), "0", "op", *p[5:]]
            elif p[2] == "resnets":
                new = ["input_blocks", str(at + int(p[3])), "0", resnet[p[4]], *p[5:]]
            else:
                new = ["input_blocks", str(at + int(p[3])), "1", *p[4:]]
        elif p[0] == "mid_block":
            new = ["middle_block", "1", *p[3:]] if p[1] == "attentions" else ["middle_block", "02"[int(p[2])], resnet[p[3]], *p[4:]]
        elif p[0] == "time_embedding":
            new = ["time_embed", "0" if p[1] == "linear_1" else "2", *p[2:]]
        elif p[0] == "conv_in":
            new = ["input_blocks", "0", "0", *p[1:]]
        elif p[0] == "controlnet_down_blocks":
            new = ["zero_convs", p[1], "0", *p[2:]]
        elif p[0] == "controlnet_mid_block":
            new = ["middle_block_out", "0", *p[1:]]
        else:
            k = {"conv_in": 0, "conv_out": 14}.get(p[1]) if p[1] != "blocks" else 2 * (int(p[2]) + 1)
            new = ["input_hint_block", str(k), p[-1]]
        stored["control_model." + ".".join(new)] = name
    checkpoint = {new: torch.full(official[old], float(i)) for i, (new, old) in enumerate(stored.items())}
    numbers = {old: float(i) for i, (_, old) in enumerate(stored.items())}
    converted = convert_controlnet_checkpoint(dict(checkpoint), net.config)
    assert set(converted) == set(official) and len(stored) == len(official), set(converted) ^ set(official)
    assert all(bool((v == numbers[k]).all()) for k, v in converted.items())
    (HERE / "names.json").write_text(json.dumps(dict(reference=VERSIONS, config=json.loads(net.to_json_string()), names=stored, shapes=official),
                                                indent=0, sort_keys=True) + "\n")
    assert levels == 3


cases()
perturbed()
names()
with torch.device("meta"):
    golden.save_defaults(HERE, json.loads(ControlNetModel().to_json_string()))
