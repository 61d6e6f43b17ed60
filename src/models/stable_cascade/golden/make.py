"""Goldens of the networks of stages C and B from diffusers' StableCascadeUNet, and of stage A from its PaellaVQModel.
python src/models/stable_cascade/golden/make.py

Made with torch 2.15.0, diffusers 0.39.0. Writes one file per configuration; perturbed.safetensors: one base configuration with one key changed at
a time; resizes.safetensors: torch's bilinear interpolation; vq.safetensors: stage A; and the structure of the published networks.
"""
import json
import sys
from pathlib import Path

import diffusers
import numpy as np
import torch
from diffusers import StableCascadeUNet
from diffusers.pipelines.deprecated.wuerstchen.modeling_paella_vq_model import MixingResidualBlock, PaellaVQModel

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"diffusers {diffusers.__version__}, torch {torch.__version__}"
RESIDUAL, TIMESTEP, ATTENTION = "SDCascadeResBlock", "SDCascadeTimestepBlock", "SDCascadeAttnBlock"
ALL = [RESIDUAL, TIMESTEP, ATTENTION]

PRIOR = dict(in_channels=5, out_channels=5, timestep_ratio_embedding_dim=8, patch_size=1, conditioning_dim=12, block_out_channels=[8, 12],
             num_attention_heads=[2, 3], down_num_layers_per_block=[1, 2], up_num_layers_per_block=[2, 1], down_blocks_repeat_mappers=[1, 1],
             up_blocks_repeat_mappers=[1, 1], block_types_per_layer=[ALL, ALL], clip_text_in_channels=6, clip_text_pooled_in_channels=10,
             clip_image_in_channels=7, clip_seq=2, kernel_size=3, dropout=[0.1, 0.1], self_attn=True, timestep_conditioning_type=["sca", "crp"],
             switch_level=[False])
DECODER = dict(in_channels=4, out_channels=4, timestep_ratio_embedding_dim=8, patch_size=2, conditioning_dim=10, block_out_channels=[8, 12, 16, 16],
               num_attention_heads=[-1, -1, 2, 4], down_num_layers_per_block=[1, 2, 1, 1], up_num_layers_per_block=[1, 2, 1, 1],
               down_blocks_repeat_mappers=[1, 2, 1, 1], up_blocks_repeat_mappers=[3, 1, 2, 2],
               block_types_per_layer=[[RESIDUAL, TIMESTEP], [RESIDUAL, TIMESTEP], ALL, ALL], clip_text_pooled_in_channels=9, clip_seq=4,
               effnet_in_channels=5, pixel_mapper_in_channels=3, kernel_size=3, dropout=[0, 0, 0.1, 0.1], self_attn=True,
               timestep_conditioning_type=["sca"])

# name: (config, batch, height, width, ratio, rows of text, images, height and width of the features, weight factor)
CASES = {
    # as stage C: no resizing; two image prompts
    "prior": (PRIOR, 2, 5, 7, 0.0625, 3, 2, None, 1.0),
    # as stage B: patches, features, constants; on the way up both sides differ from the skips'
    "decoder": (DECODER, 2, 22, 26, 0.03125, 0, 0, [3, 4], 1.0),
    # levels resized by interpolation, a level that does not attend to itself, another kernel, layers that do not start with a residual block
    "switched": (dict(PRIOR, block_out_channels=[6, 8, 8], num_attention_heads=[3, 1, 2], down_num_layers_per_block=[1, 1, 2],
                      up_num_layers_per_block=[1, 2, 1], down_blocks_repeat_mappers=[2, 1, 1], up_blocks_repeat_mappers=[1, 2, 1],
                      block_types_per_layer=[ALL, [TIMESTEP, RESIDUAL], [ATTENTION, RESIDUAL]], self_attn=[True, True, False],
                      dropout=[0.0] * 3, kernel_size=5, timestep_conditioning_type=["crp"], timestep_ratio_embedding_dim=9,
                      switch_level=[True, True]), 1, 9, 13, 0.0078125, 1, 1, None, 1.0),
    # weights × 0.03: every norm sees small values, so that an eps of 1e-5 where 1e-6 is right shows
    "faint": (DECODER, 1, 16, 18, 0.5, 0, 0, [2, 2], 0.03),
}


class Taps(golden.Taps):
    def __init__(self, net):
        super().__init__(net, lambda name: name in ("embedding", "effnet_mapper", "clip_norm", "clf") or
                         name.startswith(("down_blocks.", "up_blocks.")) and name.count(".") == 2)


def run(config, b, h, w, ratio, rows, images, features, factor, taps):
    net = golden.prepare(StableCascadeUNet.from_config(dict(config)), factor)
    tap = Taps(net) if taps else None
    c = net.config
    inputs = dict(clip_text_pooled=torch.from_numpy(golden.values("input.pooled", b, c.clip_text_pooled_in_channels)).double().unsqueeze(1))
    if c.clip_text_in_channels:
        inputs["clip_text"] = torch.from_numpy(golden.values("input.text", b, rows, c.clip_text_in_channels)).double()
        inputs["clip_img"] = torch.from_numpy(golden.values("input.image", b, images, c.clip_image_in_channels)).double()
    if c.effnet_in_channels:
        inputs["effnet"] = golden.image("input.features", b, *(features or [2, 3]), c.effnet_in_channels)
    kept = torch.Tensor.float
    torch.Tensor.float = lambda y: y if y.dtype == torch.float64 else kept(y)
    try:
        with torch.no_grad():
            y = net(golden.image("input.x", b, h, w, c.in_channels), torch.full((b,), ratio, dtype=torch.float64), **inputs).sample
    finally:
        torch.Tensor.float = kept
    return net, golden.channels_last(y), tap.arrays if tap else {}


def facts(b, h, w, ratio, rows, images, features, factor):
    return dict(batch=b, height=h, width=w, ratio=ratio, rows=rows, images=images, features=features or [2, 3], factor=factor)


def cases():
    for name, (config, *rest) in CASES.items():
        net, y, taps = run(config, *rest, True)
        assert np.isfinite(y).all()
        golden.save(HERE, name, {"y": y, **taps}, json.loads(net.to_json_string()), VERSIONS, **facts(*rest))


# Keys changed one at a time in the config of BASE: the values, and the output that the reference gives.
BASE = (PRIOR, 1, 4, 6, 0.0625, 2, 1, None, 1.0)
CHANGES = {
    "in_channels": [3],
    "out_channels": [4],
    "timestep_ratio_embedding_dim": [10, 11],
    "patch_size": [2],
    "conditioning_dim": [9],
    "block_out_channels": [[12, 6]],
    "num_attention_heads": [[4, 2]],
    "down_num_layers_per_block": [[2, 1]],
    "up_num_layers_per_block": [[1, 3]],
    "down_blocks_repeat_mappers": [[1, 2], [3, 1]],
    "up_blocks_repeat_mappers": [[2, 1], [1, 3]],
    "block_types_per_layer": [[[RESIDUAL, ATTENTION], ALL]],
    "clip_text_in_channels": [5],
    "clip_text_pooled_in_channels": [8],
    "clip_image_in_channels": [6],
    "clip_seq": [3],
    "effnet_in_channels": [4],
    "pixel_mapper_in_channels": [3],
    "kernel_size": [1, 5],
    "dropout": [[0.5, 0.0]],
    "self_attn": [False, [False, True]],
    "timestep_conditioning_type": [["crp", "sca"], ["sca"], []],
    "switch_level": [[True], None],
}


def perturbed():
    config, *rest = BASE
    net, base, _ = run(config, *rest, False)
    arrays, changes = {"base": base}, []
    for key, alternatives in CHANGES.items():
        for value in alternatives:
            _, y, _ = run({**config, key: value}, *rest, False)
            changes.append({"key": key, "value": value, "same": golden.same(y, base)})
            arrays[f"y.{len(changes) - 1}"] = y
    for change in changes:
        print("  same" if change["same"] else "  other", change["key"], change["value"])
    golden.save(HERE, "perturbed", arrays, json.loads(net.to_json_string()), VERSIONS, changes=changes, **facts(*rest))


SIZES = [(3, 4, 5, 9), (5, 7, 5, 7), (8, 6, 3, 2), (1, 5, 4, 1), (7, 1, 1, 3), (24, 18, 32, 45)]  # height, width, new height, new width


def resizes():
    arrays = {}
    for i, (h, w, height, width) in enumerate(SIZES):
        y = torch.nn.functional.interpolate(golden.image("input.x", 2, h, w, 3), (height, width), mode="bilinear", align_corners=True)
        arrays[str(i)] = golden.channels_last(y)
    golden.save(HERE, "resizes", arrays, {}, VERSIONS, sizes=SIZES, factor=1.0)


VQ = {
    "vq": (dict(embed_dim=16, bottleneck_blocks=2, latent_channels=4, num_vq_embeddings=4), 2, 3, 5, 1.0),
    # three levels, larger patches of pixels
    "vq_three": (dict(embed_dim=24, bottleneck_blocks=1, latent_channels=3, num_vq_embeddings=4, levels=3, up_down_scale_factor=3, scale_factor=0.5), 1, 2, 1,
                 1.0),
    "vq_faint": (dict(embed_dim=16, bottleneck_blocks=2, latent_channels=4, num_vq_embeddings=4), 1, 4, 3, 0.03),
}


def stage_a():
    for name, (config, b, h, w, factor) in VQ.items():
        whole = PaellaVQModel.from_config(dict(config))
        del whole.in_block, whole.down_blocks, whole.vquantizer  # of the encoder
        net = golden.prepare(whole, factor)
        tap = golden.Taps(net, lambda path: isinstance(net.get_submodule(path), MixingResidualBlock))
        with torch.no_grad():
            y = net.decode(net.config.scale_factor * golden.image("input.x", b, h, w, net.config.latent_channels)).sample
        golden.save(HERE, name, {"y": golden.channels_last(y), **tap.arrays}, json.loads(net.to_json_string()), VERSIONS, batch=b, height=h, width=w,
                    factor=factor)


# Of the published networks, as diffusers' conversion made them.
C = dict(_class_name="StableCascadeUNet", _diffusers_version="0.27.0.dev0", in_channels=16, out_channels=16, timestep_ratio_embedding_dim=64, patch_size=1,
         conditioning_dim=2048, block_out_channels=[2048, 2048], num_attention_heads=[32, 32], down_num_layers_per_block=[8, 24],
         up_num_layers_per_block=[24, 8], down_blocks_repeat_mappers=[1, 1], up_blocks_repeat_mappers=[1, 1], block_types_per_layer=[ALL, ALL],
         clip_text_in_channels=1280, clip_text_pooled_in_channels=1280, clip_image_in_channels=768, clip_seq=4, effnet_in_channels=None,
         pixel_mapper_in_channels=None, kernel_size=3, dropout=[0.1, 0.1], self_attn=True, timestep_conditioning_type=["sca", "crp"], switch_level=[False])
C_LITE = dict(C, conditioning_dim=1536, block_out_channels=[1536, 1536], num_attention_heads=[24, 24], down_num_layers_per_block=[4, 12],
              up_num_layers_per_block=[12, 4])
B = dict(_class_name="StableCascadeUNet", _diffusers_version="0.27.0.dev0", in_channels=4, out_channels=4, timestep_ratio_embedding_dim=64, patch_size=2,
         conditioning_dim=1280, block_out_channels=[320, 640, 1280, 1280], num_attention_heads=[0, 0, 20, 20], down_num_layers_per_block=[2, 6, 28, 6],
         up_num_layers_per_block=[6, 28, 6, 2], down_blocks_repeat_mappers=[1, 1, 1, 1], up_blocks_repeat_mappers=[3, 3, 2, 2],
         block_types_per_layer=[[RESIDUAL, TIMESTEP], [RESIDUAL, TIMESTEP], ALL, ALL], clip_text_in_channels=None, clip_text_pooled_in_channels=1280,
         clip_image_in_channels=None, clip_seq=4, effnet_in_channels=16, pixel_mapper_in_channels=3, kernel_size=3, dropout=[0, 0, 0.1, 0.1], self_attn=True,
         timestep_conditioning_type=["sca"], switch_level=None)
B_LITE = dict(B, block_out_channels=[320, 576, 1152, 1152], num_attention_heads=[0, 9, 18, 18], down_num_layers_per_block=[2, 4, 14, 4],
              up_num_layers_per_block=[4, 14, 4, 2], up_blocks_repeat_mappers=[2, 2, 2, 2])


def structures():
    for name, config, side in (("c", C, 24), ("c_lite", C_LITE, 24), ("b", B, 64), ("b_lite", B_LITE, 64)):
        with torch.device("meta"):
            net = StableCascadeUNet.from_config(config)
            inputs = dict(clip_text_pooled=torch.empty(1, 1, 1280))
            if config["clip_text_in_channels"]:
                inputs |= dict(clip_text=torch.empty(1, 77, 1280), clip_img=torch.empty(1, 1, 768))
            else:
                inputs |= dict(effnet=torch.empty(1, 16, 6, 6), pixels=torch.empty(1, 3, 1, 1))  # all zeros: hearth computes one
            x, ratio = torch.empty(1, config["in_channels"], side, side), torch.empty(1)
            call = type("Call", (), {"__call__": lambda self, *_: net(x, ratio, **inputs), "state_dict": lambda self: net.state_dict()})()
            golden.save_structure(HERE, name, call, VERSIONS, **config)
        print(name, sum(p.numel() for p in net.parameters()) / 1e9)


if __name__ == "__main__":
    structures()
    resizes()
    stage_a()
    cases()
    perturbed()
