"""Goldens of the UNet from diffusers' UNet2DConditionModel.   python src/parts/unet/golden/make.py

Made with torch 2.15.0, diffusers 0.39.0. Writes one file per configuration, and perturbed.safetensors: one base
configuration with one key changed at a time.
"""
import functools
import json
import sys
from pathlib import Path

import diffusers
import torch
from diffusers import StableDiffusionXLPipeline, UNet2DConditionModel

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402
import name_weights  # noqa: E402

VERSIONS = f"diffusers {diffusers.__version__}, torch {torch.__version__}"
CROSS, PLAIN = "CrossAttn{}Block2D", "{}Block2D"


def blocks(*attends):
    """down_block_types and up_block_types, from the top level downwards."""
    name = lambda a, way: (CROSS if a else PLAIN).format(way)  # noqa: E731
    return {"down_block_types": [name(a, "Down") for a in attends], "up_block_types": [name(a, "Up") for a in reversed(attends)]}


# name: (config, batch, height, width, timesteps, tokens, weight factor)
CASES = {
    "sd1": (dict(blocks(True, True, False), block_out_channels=[8, 16, 24], layers_per_block=2, norm_num_groups=4, attention_head_dim=2,
                 cross_attention_dim=12, sample_size=8), 2, 8, 8, [999.0, 1.0], 5, 1.0),
    # four levels, odd sides, matrices as projections, lists of heads, layers and depths, one fractional timestep for both images
    "sd2": (dict(blocks(True, True, True, False), block_out_channels=[8, 16, 16, 32], layers_per_block=[1, 2, 1, 2], norm_num_groups=8,
                 attention_head_dim=[1, 2, 4, 8], transformer_layers_per_block=[1, 2, 1, 1], cross_attention_dim=20, use_linear_projection=True,
                 upcast_attention=True, sample_size=[7, 5]), 2, 7, 5, [451.37], 3, 1.0),
    # what published configs seldom change, all at once; heads that do not divide the width, an odd width of the sinusoid
    "unusual": (dict(down_block_types=["DownBlock2D", "CrossAttnDownBlock2D"], up_block_types=["UpBlock2D", "CrossAttnUpBlock2D"],
                     mid_block_type="UNetMidBlock2D", block_out_channels=[9, 18], layers_per_block=1, norm_num_groups=3, norm_eps=1e-3, act_fn="gelu",
                     attention_head_dim=5, only_cross_attention=[True, True], cross_attention_dim=[7, 7], in_channels=3, out_channels=5,
                     center_input_sample=True, flip_sin_to_cos=False, freq_shift=1, downsample_padding=0, mid_block_scale_factor=1.5, conv_in_kernel=5,
                     conv_out_kernel=1, time_embedding_dim=20, timestep_post_act="silu", time_embedding_act_fn="gelu"), 1, 9, 6, [37.25], 4, 1.0),
    # one level; no middle
    "flat": (dict(blocks(True), mid_block_type=None, block_out_channels=[12], layers_per_block=2, norm_num_groups=2, attention_head_dim=3,
                  cross_attention_dim=6), 1, 3, 5, [0.0], 1, 1.0),
    # depths per residual block
    "nested": (dict(blocks(True, True), block_out_channels=[8, 8], layers_per_block=2, norm_num_groups=2, attention_head_dim=[2, 4],
                    transformer_layers_per_block=[[1, 2], [2, 0]], reverse_transformer_layers_per_block=[[1, 0, 2], [2, 1, 1]],
                    cross_attention_dim=8, mid_block_scale_factor=1.4142135), 1, 6, 10, [700.5], 2, 1.0),
    # XL: no attention on the first level, depths per level, pooled text and six sizes, each image with its own
    "sdxl": (dict(blocks(False, True, True), block_out_channels=[8, 16, 16], layers_per_block=2, norm_num_groups=4, attention_head_dim=[1, 2, 4],
                  transformer_layers_per_block=[1, 2, 3], cross_attention_dim=24, use_linear_projection=True, addition_embed_type="text_time",
                  addition_time_embed_dim=6, projection_class_embeddings_input_dim=46, sample_size=16), 2, 6, 8, [999.0, 321.5], 5, 1.0,
             dict(sizes=[[1024, 768, 0, 0, 1024, 768], [512, 640, 13, 7.5, 1024, 1024]])),
    # the refiner's: four levels, five sizes; other activations, which the added embedding does not take over
    "refiner": (dict(blocks(False, True, True, False), block_out_channels=[8, 16, 16, 16], layers_per_block=1, norm_num_groups=4, act_fn="gelu",
                     attention_head_dim=[1, 2, 4, 4], transformer_layers_per_block=2, cross_attention_dim=10, use_linear_projection=True,
                     addition_embed_type="text_time", addition_time_embed_dim=8, projection_class_embeddings_input_dim=50, sample_size=16,
                     time_embedding_act_fn="gelu", flip_sin_to_cos=False, freq_shift=1), 1, 9, 7, [199.0], 4, 1.0,
                dict(sizes=[[1024, 768, 0, 3, 6.0]])),
    # pruned as SSD-1B is (no attention in the middle, depths per residual block), with a guidance scale's embedding as LCM has it
    "pruned": (dict(blocks(False, True, True), mid_block_type="UNetMidBlock2D", block_out_channels=[8, 8, 16], layers_per_block=2, norm_num_groups=4,
                    attention_head_dim=[2, 2, 4], transformer_layers_per_block=[0, [2, 1], [1, 2]],
                    reverse_transformer_layers_per_block=[[1, 2, 3], [2, 1, 1], 0], cross_attention_dim=12, use_linear_projection=True,
                    addition_embed_type="text_time", addition_time_embed_dim=4, projection_class_embeddings_input_dim=40, time_cond_proj_dim=10,
                    sample_size=16), 2, 4, 6, [759.0], 3, 1.0, dict(sizes=[[64, 48, 0, 0, 64, 48]] * 2, guidance=[8.5, 1.0])),
    # weights × 0.03: every norm sees a variance near 1e-3, so that an eps of 1e-5 where 1e-6 is right shows
    "faint": (dict(blocks(True, False), block_out_channels=[8, 16], layers_per_block=1, norm_num_groups=4, attention_head_dim=2,
                   cross_attention_dim=12), 1, 6, 4, [250.0], 3, 0.03),
}


def tapped(name):
    parent, _, last = name.rpartition(".")
    block = parent.rpartition(".")[2] in ("down_blocks", "up_blocks", "resnets", "attentions", "transformer_blocks")
    return block and last.isdigit() or name in ("time_embedding", "conv_in", "conv_out", "mid_block")


def guidance_embedding(scales, width):
    return StableDiffusionXLPipeline.get_guidance_scale_embedding(None, torch.tensor(scales) - 1, embedding_dim=width).double()


def run(config, b, h, w, timesteps, tokens, factor, taps, sizes=None, guidance=None):
    net = golden.prepare(UNet2DConditionModel.from_config(dict(config)), factor)
    tap = golden.Taps(net, tapped) if taps else None
    x = golden.image("input.x", b, h, w, net.config.in_channels)
    cross = net.config.cross_attention_dim
    width = cross if isinstance(cross, int) else cross[-1]
    context = torch.from_numpy(golden.values("input.context", b, tokens, width)).double()
    given = {}
    if sizes:
        pooled = net.config.projection_class_embeddings_input_dim - len(sizes[0]) * net.config.addition_time_embed_dim
        given["added_cond_kwargs"] = dict(text_embeds=torch.from_numpy(golden.values("input.pooled", b, pooled)).double(),
                                          time_ids=torch.tensor(sizes, dtype=torch.float64))
    if guidance:
        given["timestep_cond"] = guidance_embedding(guidance, net.config.time_cond_proj_dim)
    with torch.no_grad():
        y = net(x, torch.tensor(timesteps, dtype=torch.float64), context, **given).sample
    return net, golden.channels_last(y), tap.arrays if tap else {}


def cases():
    for name, (config, b, h, w, timesteps, tokens, factor, *more) in CASES.items():
        more = more[0] if more else {}
        net, y, taps = run(config, b, h, w, timesteps, tokens, factor, True, **more)
        assert torch.isfinite(torch.from_numpy(y)).all()
        golden.save(HERE, name, {"y": y, **taps}, json.loads(net.to_json_string()), VERSIONS, batch=b, height=h, width=w, timesteps=timesteps,
                    tokens=tokens, factor=factor, **more)


# Keys changed one at a time in the config of BASE: the value, and the output that the reference gives.
BASE = (dict(blocks(True, True), block_out_channels=[8, 16], layers_per_block=1, norm_num_groups=4, attention_head_dim=2, cross_attention_dim=12,
             sample_size=4), 1, 5, 4, [321.0], 3, 1.0)
CHANGES = {
    "sample_size": [64, [5, 4], None],
    "center_input_sample": [True],
    "flip_sin_to_cos": [False],
    "freq_shift": [1, 0.5],
    "down_block_types": [["DownBlock2D", "CrossAttnDownBlock2D"]],
    "up_block_types": [["UpBlock2D", "CrossAttnUpBlock2D"]],
    "mid_block_type": [None, "UNetMidBlock2D"],
    "only_cross_attention": [True, [False, True]],
    "block_out_channels": [[4, 8]],
    "layers_per_block": [2, [2, 1]],
    "downsample_padding": [0],
    "mid_block_scale_factor": [2],
    "dropout": [0.5],
    "act_fn": ["gelu", "relu", "SiLU", "swish"],
    "norm_num_groups": [2],
    "norm_eps": [0.1],
    "cross_attention_dim": [[12, 12]],
    "transformer_layers_per_block": [2, [1, 2]],
    "reverse_transformer_layers_per_block": [[2, 1], [[1, 2], [1, 1]]],
    "attention_head_dim": [1, 3, [2, 4]],
    "use_linear_projection": [True],
    "upcast_attention": [True],
    "resnet_skip_time_act": [True],
    "resnet_out_scale_factor": [2.0],
    "time_embedding_dim": [24, 0],
    "time_embedding_act_fn": ["silu"],
    "timestep_post_act": ["gelu"],
    "conv_in_kernel": [1],
    "conv_out_kernel": [5],
    "cross_attention_norm": ["layer_norm"],
    "mid_block_only_cross_attention": [True],
    "addition_embed_type_num_heads": [32],
    "addition_time_embed_dim": [256],
    "projection_class_embeddings_input_dim": [128],
}


def perturbed():
    config, *rest = BASE
    net, base, _ = run(config, *rest, False)
    full = json.loads(net.to_json_string())
    arrays, changes = {"base": base}, []
    for key, alternatives in CHANGES.items():
        for value in alternatives:
            _, y, _ = run({**config, key: value}, *rest, False)
            changes.append({"key": key, "value": value, "same": golden.same(y, base)})
            arrays[f"y.{len(changes) - 1}"] = y
    for change in changes:
        print("  same" if change["same"] else "  other", change["key"], change["value"])
    b, h, w, timesteps, tokens, factor = rest
    golden.save(HERE, "perturbed", arrays, full, VERSIONS, changes=changes, batch=b, height=h, width=w, timesteps=timesteps, tokens=tokens, factor=factor)


# Perturbed attention: the last third of the batch with identity attention in blocks of one kind.
PAG = (dict(blocks(True, True), block_out_channels=[8, 16], layers_per_block=1, norm_num_groups=4, attention_head_dim=2, cross_attention_dim=12,
            transformer_layers_per_block=[2, 1], sample_size=4), 3, 5, 4, [321.0], 3, 1.0)


def pag():
    from diffusers.models.attention_processor import PAGCFGIdentitySelfAttnProcessor2_0
    from diffusers.pipelines.pag.pag_utils import PAGMixin

    config, b, h, w, timesteps, tokens, factor = PAG
    arrays, seen = {}, None
    for layers in ("mid", "down", "up"):
        class Patch(PAGMixin):
            pass

        net = golden.prepare(UNet2DConditionModel.from_config(dict(config)), factor)
        pipe = Patch()
        pipe.unet = net
        pipe.set_pag_applied_layers(layers, (PAGCFGIdentitySelfAttnProcessor2_0(), None))
        pipe._set_pag_attn_processor([layers], True)
        context = torch.from_numpy(golden.values("input.context", b, tokens, config["cross_attention_dim"])).double()
        with torch.no_grad():
            arrays[layers] = golden.channels_last(net(golden.image("input.x", b, h, w, 4), torch.tensor(timesteps, dtype=torch.float64), context).sample)
        seen = net
    golden.save(HERE, "pag", arrays, json.loads(seen.to_json_string()), VERSIONS, batch=b, height=h, width=w, timesteps=timesteps, tokens=tokens, factor=factor)


# Two IP-Adapters, whose tensors are under "a." and "b."; the second also with a mask of its image.
IMAGES = (dict(blocks(True, True, False), block_out_channels=[8, 16, 24], layers_per_block=2, norm_num_groups=4, attention_head_dim=2,
               transformer_layers_per_block=[1, 2, 1], cross_attention_dim=12, sample_size=8), 2, 7, 6, [451.37], 5, 1.0)


def images():
    from diffusers.models.attention_processor import IPAdapterAttnProcessor2_0

    config, b, h, w, timesteps, tokens, factor = IMAGES
    net = golden.prepare(UNet2DConditionModel.from_config(dict(config)), factor)
    full = json.loads(net.to_json_string())
    width, into = config["cross_attention_dim"], 10
    attends = [name for name in net.attn_processors if name.endswith("attn2.processor")]
    channels = [net.get_submodule(name.removesuffix(".processor")).inner_dim for name in attends]

    def adapter(name):
        tensor = lambda key, *shape: torch.from_numpy(name_weights.tensor(f"{name}.{key}", shape)).double()  # noqa: E731
        proj = {"proj.weight": (4 * width, into), "proj.bias": (4 * width,), "norm.weight": (width,), "norm.bias": (width,)}
        keys = {f"{2 * i + 1}.{what}.weight": (count, width) for i, count in enumerate(channels) for what in ("to_k_ip", "to_v_ip")}
        return {"image_proj": {key: tensor(f"image_proj.{key}", *shape) for key, shape in proj.items()},
                "ip_adapter": {key: tensor(f"ip_adapter.{key}", *shape) for key, shape in keys.items()}}

    net._load_ip_adapter_weights([adapter("a"), adapter("b")], low_cpu_mem_usage=False)
    net = net.double()
    embeds = [torch.from_numpy(golden.values(f"input.image.{name}", b, 1, into)).double() for name in "ab"]
    context = torch.from_numpy(golden.values("input.context", b, tokens, width)).double()
    mask = torch.from_numpy((golden.values("input.mask", 1, 1, 56, 48) > 0).astype("float64"))
    mask[..., :28, :] = 1
    arrays = {}
    for name, scales, masks in (("none", [0, 0], None), ("first", [0.7, 0], None), ("both", [0.7, -0.4], None), ("masked", [0.7, 1.3], [torch.ones_like(mask), mask])):
        for processor in net.attn_processors.values():
            if isinstance(processor, IPAdapterAttnProcessor2_0):
                processor.scale = list(scales)
        with torch.no_grad():
            arrays[name] = golden.channels_last(net(
                golden.image("input.x", b, h, w, 4), torch.tensor(timesteps, dtype=torch.float64), context, added_cond_kwargs={"image_embeds": embeds},
                cross_attention_kwargs={"ip_adapter_masks": masks} if masks else None).sample)
    from diffusers.image_processor import IPAdapterMaskProcessor

    for positions in (h * w, -(-h // 2) * -(-w // 2), -(-h // 4) * -(-w // 4)):
        arrays[f"mask.{positions}"] = IPAdapterMaskProcessor.downsample(mask[0], 1, positions, 1).flatten().float().numpy()
    golden.save(HERE, "images", arrays, full, VERSIONS, batch=b, height=h, width=w, timesteps=timesteps, tokens=tokens, factor=factor, channels=channels)


# The published unet/config.json of Stable Diffusion 1.5 and 2.1.
SD15 = dict(blocks(True, True, True, False), _class_name="UNet2DConditionModel", _diffusers_version="0.6.0", act_fn="silu", attention_head_dim=8,
            block_out_channels=[320, 640, 1280, 1280], center_input_sample=False, cross_attention_dim=768, downsample_padding=1, flip_sin_to_cos=True,
            freq_shift=0, in_channels=4, layers_per_block=2, mid_block_scale_factor=1, norm_eps=1e-05, norm_num_groups=32, out_channels=4, sample_size=64)
SD21 = {**SD15, "_diffusers_version": "0.10.0.dev0", "attention_head_dim": [5, 10, 20, 20], "cross_attention_dim": 1024, "dual_cross_attention": False,
        "num_class_embeds": None, "only_cross_attention": False, "sample_size": 96, "upcast_attention": True, "use_linear_projection": True}


# Those of Stable Diffusion XL 1.0: base and refiner.
SDXL = {**SD21, **blocks(False, True, True), "_diffusers_version": "0.19.0.dev0", "addition_embed_type": "text_time", "addition_time_embed_dim": 256,
        "attention_head_dim": [5, 10, 20], "block_out_channels": [320, 640, 1280], "cross_attention_dim": 2048, "sample_size": 128, "upcast_attention": None,
        "projection_class_embeddings_input_dim": 2816, "transformer_layers_per_block": [1, 2, 10]}
REFINER = {**SDXL, **blocks(False, True, True, False), "attention_head_dim": [6, 12, 24, 24], "block_out_channels": [384, 768, 1536, 1536],
           "cross_attention_dim": 1280, "projection_class_embeddings_input_dim": 2560, "transformer_layers_per_block": 4}


def structures():
    for name, config in {"sd15": SD15, "sd21": SD21, "sdxl": SDXL, "refiner": REFINER}.items():
        with torch.device("meta"):
            net = UNet2DConditionModel.from_config(config)
            inputs = torch.empty(1, 4, 64, 64), torch.empty(1), torch.empty(1, 77, config["cross_attention_dim"])
            if config.get("addition_embed_type"):
                sizes = 5 if name == "refiner" else 6
                pooled = torch.empty(1, config["projection_class_embeddings_input_dim"] - sizes * 256)
                net.forward = functools.partial(net.forward, added_cond_kwargs=dict(text_embeds=pooled, time_ids=torch.empty(1, sizes)))
        golden.save_structure(HERE, name, net, VERSIONS, *inputs, **config)


def defaults():
    with torch.device("meta"):
        golden.save_defaults(HERE, json.loads(UNet2DConditionModel().to_json_string()))


cases()
perturbed()
pag()
structures()
defaults()
images()
