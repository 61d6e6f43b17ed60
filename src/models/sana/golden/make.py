"""Goldens of diffusers' SanaTransformer2DModel and AutoencoderDC.   python src/models/sana/golden/make.py

Made with torch 2.15.0, diffusers 0.39.0. Writes one file per configuration; sana_perturbed.safetensors and dc_perturbed.safetensors: one base
configuration with one key changed at a time; and the structure of the published networks.
"""
import json
import sys
from pathlib import Path

import diffusers
import numpy as np
import torch
from diffusers import AutoencoderDC, SanaTransformer2DModel
from diffusers.loaders.single_file_utils import convert_autoencoder_dc_checkpoint_to_diffusers
from diffusers.models.attention_processor import SanaLinearAttnProcessor2_0

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"diffusers {diffusers.__version__}, torch {torch.__version__}"

LIMITED = 12.0  # the weight factor of the case in which the attention's results are clamped


class ClampedAttention(SanaLinearAttnProcessor2_0):
    """As it is in float16."""

    def __call__(self, *args, **kwargs):
        y = super().__call__(*args, **kwargs)
        print(f"  attention up to {float(y.abs().max()):.3g}, {float((y.abs() > 65504).double().mean()):.2g} clamped")
        return y.clip(-65504, 65504)


# name: (config, batch, height, width, timesteps, guidance, text rows, rows that count, weight factor)
CASES = {
    # as 1.6B: no positions, no norms of queries and keys; a timestep for each image
    "plain": (dict(in_channels=4, out_channels=4, num_attention_heads=3, attention_head_dim=8, num_layers=3, num_cross_attention_heads=2,
                   cross_attention_head_dim=12, cross_attention_dim=24, caption_channels=10, sample_size=4), 2, 5, 7, [1000.0, 12.5], None, 6,
              [6, 2], 1.0),
    # as the 2K models: sine positions, at another size than the model's; learned sigma; taller than wide
    "positions": (dict(in_channels=3, out_channels=6, num_attention_heads=2, attention_head_dim=6, num_layers=2, num_cross_attention_heads=3,
                       cross_attention_head_dim=4, cross_attention_dim=12, caption_channels=7, sample_size=8, interpolation_scale=2.0,
                       mlp_ratio=1.7), 1, 12, 4, [437.25], None, 5, [3], 1.0),
    # as Sprint: guidance embedding, norms of queries and keys, its timestep scale is applied by the pipeline
    "sprint": (dict(in_channels=4, out_channels=4, num_attention_heads=2, attention_head_dim=8, num_layers=2, num_cross_attention_heads=2,
                    cross_attention_head_dim=8, cross_attention_dim=16, caption_channels=9, sample_size=4, guidance_embeds=True,
                    qk_norm="rms_norm_across_heads", timestep_scale=1000.0), 2, 4, 4, [1570.8], 0.45, 4, [1, 4], 1.0),
    # patches of two, weights of the norm and biases of the attention
    "unusual": (dict(in_channels=5, out_channels=None, num_attention_heads=2, attention_head_dim=4, num_layers=1, num_cross_attention_heads=1,
                     cross_attention_head_dim=6, cross_attention_dim=8, caption_channels=5, sample_size=8, patch_size=2, attention_bias=True,
                     norm_elementwise_affine=True, norm_eps=1e-4, interpolation_scale=1.0), 1, 8, 8, [0.0], None, 3, [3], 1.0),
    # as the first 1.6B in float16: results of the self-attention beyond its range are clamped
    "limited": (dict(in_channels=4, out_channels=4, num_attention_heads=2, attention_head_dim=4, num_layers=2, num_cross_attention_heads=2,
                     cross_attention_head_dim=4, cross_attention_dim=8, caption_channels=6, sample_size=4), 2, 3, 4, [250.0], None, 3, [2, 3],
                LIMITED),
    "faint": (dict(in_channels=4, out_channels=4, num_attention_heads=2, attention_head_dim=4, num_layers=2, num_cross_attention_heads=2,
                   cross_attention_head_dim=4, cross_attention_dim=8, caption_channels=6, sample_size=4, qk_norm="rms_norm_across_heads"), 1, 3,
              4, [250.0], None, 3, [2], 0.03),
}


def run(config, b, h, w, timesteps, guidance, length, rows, factor, taps):
    net = golden.prepare(SanaTransformer2DModel.from_config(dict(config)), factor)
    if factor == LIMITED:
        for block in net.transformer_blocks:
            block.attn1.set_processor(ClampedAttention())
    names = {"patch_embed", "caption_norm", "norm_out"} | {f"transformer_blocks.{i}" for i in range(len(net.transformer_blocks))}
    tap = golden.Taps(net, lambda name: name in names or name == "time_embed") if taps else None
    x = golden.image("input.x", b, h, w, net.config.in_channels)
    text = torch.from_numpy(golden.values("input.text", b, length, net.config.caption_channels)).double()
    mask = torch.zeros(b, length, dtype=torch.float64)
    for i, n in enumerate(rows):
        mask[i, :n] = 1
    times = torch.tensor(timesteps if len(timesteps) == b else timesteps * b, dtype=torch.float64)
    scale = None if guidance is None else torch.tensor([guidance] * b, dtype=torch.float64)
    with torch.no_grad():
        y = net(x, encoder_hidden_states=text, timestep=times, guidance=scale, encoder_attention_mask=mask).sample
    return net, golden.channels_last(y), tap.arrays if tap else {}


def facts(b, h, w, timesteps, guidance, length, rows, factor):
    return dict(batch=b, height=h, width=w, timesteps=timesteps, guidance=guidance, length=length, rows=rows, factor=factor, limited=factor == LIMITED)


def cases():
    for name, (config, *rest) in CASES.items():
        net, y, taps = run(config, *rest, True)
        assert np.isfinite(y).all()
        golden.save(HERE, name, {"y": y, **taps}, json.loads(net.to_json_string()), VERSIONS, **facts(*rest))


BASE = (dict(in_channels=4, out_channels=4, num_attention_heads=2, attention_head_dim=4, num_layers=2, num_cross_attention_heads=2,
             cross_attention_head_dim=4, cross_attention_dim=8, caption_channels=6, sample_size=8), 1, 4, 6, [321.0], None, 4, [3], 1.0)
CHANGES = {
    "sample_size": [16], "patch_size": [2], "out_channels": [2, None], "in_channels": [3], "num_layers": [1], "caption_channels": [9],
    "num_cross_attention_heads": [4], "cross_attention_head_dim": [2], "mlp_ratio": [1.3, 4.0], "attention_bias": [True],
    "norm_elementwise_affine": [True], "norm_eps": [0.1], "interpolation_scale": [0.5, 2.0], "qk_norm": ["rms_norm_across_heads"],
    "timestep_scale": [1000.0], "guidance_embeds_scale": [0.5],
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
            print("  same" if changes[-1]["same"] else "  other", key, value)
    golden.save(HERE, "sana_perturbed", arrays, json.loads(net.to_json_string()), VERSIONS, changes=changes, **facts(*rest))


# name: (config, batch, height, width of the image, weight factor)
DC = dict(latent_channels=4, attention_head_dim=4)
DC_CASES = {
    # as the published one: residual blocks at large sizes, attention at small ones, strided convolutions, interpolation
    "dc_published": (dict(DC, encoder_block_types=["ResBlock", "ResBlock", "EfficientViTBlock"],
                          decoder_block_types=["ResBlock", "ResBlock", "EfficientViTBlock"], encoder_block_out_channels=[4, 8, 8],
                          decoder_block_out_channels=[4, 8, 8], encoder_layers_per_block=[1, 2, 1], decoder_layers_per_block=[2, 1, 2],
                          encoder_qkv_multiscales=[[], [], [5]], decoder_qkv_multiscales=[[], [], [5]], downsample_block_type="conv",
                          upsample_block_type="interpolate", scaling_factor=0.41407), 2, 24, 16, 1.0),
    # the other ways to change the size; no blocks at the image's size; two scales; no shortcuts at the latents; other activations
    "dc_shuffled": (dict(DC, encoder_block_types=["ResBlock", "EfficientViTBlock", "ResBlock"],
                         decoder_block_types=["ResBlock", "EfficientViTBlock", "ResBlock"], encoder_block_out_channels=[4, 8, 16],
                         decoder_block_out_channels=[4, 8, 16], encoder_layers_per_block=[0, 1, 1], decoder_layers_per_block=[0, 1, 2],
                         encoder_qkv_multiscales=[[], [3, 5], []], decoder_qkv_multiscales=[[], [], []],
                         downsample_block_type="pixel_unshuffle", upsample_block_type="pixel_shuffle", encoder_out_shortcut=False,
                         decoder_in_shortcut=False, decoder_act_fns=["silu", "silu", "relu"], decoder_conv_act_fn="silu"), 1, 8, 16, 1.0),
    "dc_faint": (dict(DC, encoder_block_types=["ResBlock", "EfficientViTBlock"], decoder_block_types=["ResBlock", "EfficientViTBlock"],
                      encoder_block_out_channels=[4, 8], decoder_block_out_channels=[4, 8], encoder_layers_per_block=[1, 1],
                      decoder_layers_per_block=[1, 1], encoder_qkv_multiscales=[[], [5]], decoder_qkv_multiscales=[[], [5]]), 1, 6, 4, 0.1),
}


TILE = 8  # side of a tile in latent pixels


def run_dc(config, b, h, w, factor, taps, tile=None):
    net = golden.prepare(AutoencoderDC.from_config(dict(config)), factor)
    if tile:
        side = tile * net.spatial_compression_ratio
        net.enable_tiling(side, side, side * 7 // 8, side * 7 // 8)
    wanted = {"encoder", "decoder"} | {n for n, m in net.named_modules() if type(m).__name__ in ("ResBlock", "EfficientViTBlock")}
    tap = golden.Taps(net, lambda name: name in wanted) if taps else None
    x = golden.image("input.image", b, h, w, net.config.in_channels)
    f = net.spatial_compression_ratio
    z = golden.image("input.z", b, h // f, w // f, net.config.latent_channels)
    with torch.no_grad():
        encoded, decoded = net.encode(x).latent, net.decode(z).sample
    return net, {"encoded": golden.channels_last(encoded), "decoded": golden.channels_last(decoded)}, tap.arrays if tap else {}


def dc_tiles():
    config, b, _, _, factor = DC_CASES["dc_published"]
    rest = b, 72, 40, factor
    net, arrays, _ = run_dc(config, *rest, False, TILE)
    golden.save(HERE, "dc_tiled", arrays, json.loads(net.to_json_string()), VERSIONS, tile=TILE,
                **dict(zip(("batch", "height", "width", "factor"), rest)))


def dc_cases():
    for name, (config, *rest) in DC_CASES.items():
        net, arrays, taps = run_dc(config, *rest, True)
        assert all(np.isfinite(a).all() for a in arrays.values())
        golden.save(HERE, name, {**arrays, **taps}, json.loads(net.to_json_string()), VERSIONS,
                    **dict(zip(("batch", "height", "width", "factor"), rest)))


SANA_1600M = dict(_class_name="SanaTransformer2DModel", attention_bias=False, attention_head_dim=32, caption_channels=2304, cross_attention_dim=2240,
                  cross_attention_head_dim=112, dropout=0.0, in_channels=32, mlp_ratio=2.5, norm_elementwise_affine=False, norm_eps=1e-06,
                  num_attention_heads=70, num_cross_attention_heads=20, num_layers=20, out_channels=32, patch_size=1, sample_size=32)
SANA_600M = dict(SANA_1600M, cross_attention_dim=1152, cross_attention_head_dim=72, num_attention_heads=36, num_cross_attention_heads=16,
                 num_layers=28)
SPRINT_1600M = dict(SANA_1600M, guidance_embeds=True, guidance_embeds_scale=0.1, qk_norm="rms_norm_across_heads", timestep_scale=1000.0)
DC_F32 = dict(_class_name="AutoencoderDC", attention_head_dim=32, decoder_act_fns="silu", decoder_block_out_channels=[128, 256, 512, 512, 1024, 1024],
              decoder_block_types=["ResBlock"] * 3 + ["EfficientViTBlock"] * 3, decoder_layers_per_block=[3] * 6, decoder_norm_types="rms_norm",
              decoder_qkv_multiscales=[[], [], [], [5], [5], [5]], downsample_block_type="conv",
              encoder_block_out_channels=[128, 256, 512, 512, 1024, 1024], encoder_block_types=["ResBlock"] * 3 + ["EfficientViTBlock"] * 3,
              encoder_layers_per_block=[2, 2, 2, 3, 3, 3], encoder_qkv_multiscales=[[], [], [], [5], [5], [5]], in_channels=3, latent_channels=32,
              scaling_factor=0.41407, upsample_block_type="interpolate")


def structures():
    for name, config in {"sana_1600m": SANA_1600M, "sana_600m": SANA_600M, "sprint_1600m": SPRINT_1600M}.items():
        with torch.device("meta"):
            net = SanaTransformer2DModel.from_config(config)
            guidance = torch.empty(1) if config.get("guidance_embeds") else None
            inputs = torch.empty(1, 32, 16, 24), torch.empty(1, 9, 2304), torch.empty(1), guidance
        golden.save_structure(HERE, name, net, VERSIONS, *inputs, **config)
    with torch.device("meta"):
        net = AutoencoderDC.from_config(DC_F32)
        golden.save_structure(HERE, "dc_f32", net, VERSIONS, torch.empty(1, 3, 256, 384), **DC_F32)


def defaults():
    with torch.device("meta"):
        golden.save_defaults(HERE, {"transformer": json.loads(SanaTransformer2DModel().to_json_string()),
                                    "vae": json.loads(AutoencoderDC().to_json_string())})


# Names of the authors' file (mit-han-lab/efficientvit), for the autoencoder of tests/e2e; checked with diffusers' converter.
def dc_original():
    config = json.loads((HERE.parents[3] / "tests/e2e/golden/sana/vae/config.json").read_text())
    official = AutoencoderDC.from_config({k: v for k, v in config.items() if k[0] != "_"}).state_dict()
    ends = {"encoder.conv_in": "encoder.project_in.conv", "encoder.conv_out": "encoder.project_out.main.op_list.0.conv",
            "decoder.conv_in": "decoder.project_in.main.conv", "decoder.norm_out": "decoder.project_out.op_list.0",
            "decoder.conv_out": "decoder.project_out.op_list.2.conv"}
    attention, local = "context_module.main", "local_module.main"
    inner = {"conv1": "main.conv1.conv", "conv2": "main.conv2.conv", "norm": "main.conv2.norm", "attn.to_q": f"{attention}.qkv.conv",
             "attn.to_out": f"{attention}.proj.conv", "attn.norm_out": f"{attention}.proj.norm",
             "attn.to_qkv_multiscale.0.proj_in": f"{attention}.aggreg.0.0", "attn.to_qkv_multiscale.0.proj_out": f"{attention}.aggreg.0.1",
             "conv_out.conv_inverted": f"{local}.inverted_conv.conv", "conv_out.conv_depth": f"{local}.depth_conv.conv",
             "conv_out.conv_point": f"{local}.point_conv.conv", "conv_out.norm": f"{local}.point_conv.norm"}
    original, names = {}, {}
    for name in official:
        module, leaf = name.rsplit(".", 1)
        parts = module.split(".", 4)
        if module in ends:
            stored = ends[module]
        else:
            kind = "main.conv" if parts[4] == "conv" and parts[0] == "encoder" else "main.conv.conv" if parts[4] == "conv" else inner.get(parts[4])
            if kind is None:
                continue  # keys and values, which are in the queries' tensor
            stored = f"{parts[0]}.stages.{parts[2]}.op_list.{parts[3]}.{kind}"
        held = [name.replace("to_q", part) for part in ("to_q", "to_k", "to_v")] if module.endswith("to_q") else [name]
        value = torch.cat([official[h] for h in held])
        if len(held) > 1 or module.endswith("to_out"):
            value = value[:, :, None, None]
        original[f"{stored}.{leaf}"], names[f"{stored}.{leaf}"] = value, {"official": held, "shape": list(value.shape)}
    converted = convert_autoencoder_dc_checkpoint_to_diffusers(dict(original))
    assert converted.keys() == official.keys() and all(torch.equal(converted[k], official[k]) for k in official)
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(names.items()))
    (HERE / "dc_original.json").write_text(f'{{"versions": {json.dumps(VERSIONS)}, "names": {{\n{lines}\n}}}}\n')


if __name__ == "__main__":
    cases()
    perturbed()
    dc_cases()
    dc_tiles()
    structures()
    defaults()
    dc_original()
