"""Goldens of T2I-Adapters from diffusers' T2IAdapter.   python src/parts/t2i_adapter/golden/make.py

Made with torch 2.15.0, diffusers 0.39.0. Writes one file per configuration, and names.json: the names of the authors' layouts.
"""
import json
import sys
from pathlib import Path

import diffusers
import torch
from diffusers import T2IAdapter, UNet2DConditionModel

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"diffusers {diffusers.__version__}, torch {torch.__version__}"
UNET = dict(layers_per_block=1, norm_num_groups=4, attention_head_dim=2, cross_attention_dim=12)
ALL, FIRST = ["CrossAttnDownBlock2D"] * 4, ["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"]
# name: (adapter, UNet, height, width of the image); odd sizes after halving, a last block without attention
CASES = {
    "full": (dict(channels=[8, 16, 24, 24], num_res_blocks=2), dict(UNET, block_out_channels=[8, 16, 24, 24], down_block_types=[*ALL[:3], "DownBlock2D"],
             up_block_types=["UpBlock2D", *["CrossAttnUpBlock2D"] * 3]), 72, 104),
    "gray": (dict(in_channels=1, channels=[8, 16, 24, 24], num_res_blocks=1), None, 64, 32),
    "xl": (dict(channels=[8, 16, 24, 24], num_res_blocks=2, downscale_factor=16, adapter_type="full_adapter_xl"),
           dict(UNET, block_out_channels=[8, 16, 24], down_block_types=FIRST, up_block_types=["CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"]), 96, 80),
    "light": (dict(channels=[8, 16, 24], num_res_blocks=4, adapter_type="light_adapter"), dict(UNET, block_out_channels=[8, 16, 24, 24],
              down_block_types=ALL, up_block_types=["CrossAttnUpBlock2D"] * 4), 40, 72),
}


def main():
    names = {}
    for name, (config, unet_config, H, W) in CASES.items():
        net = golden.prepare(T2IAdapter.from_config(config))
        image = golden.image("input.image", 1, H, W, config.get("in_channels", 3)).abs()
        with torch.no_grad():
            features = net(image)
        arrays = {f"feature.{i}": golden.channels_last(f) for i, f in enumerate(features)}
        more = {}
        if unet_config:
            unet = golden.prepare(UNet2DConditionModel.from_config(unet_config))
            h, w = H // 8, W // 8
            x, context = golden.image("input.x", 2, h, w, 4), torch.from_numpy(golden.values("input.context", 2, 5, 12)).double()
            with torch.no_grad():
                y = unet(x, torch.tensor([321.0], dtype=torch.float64), context,
                         down_intrablock_additional_residuals=[f.repeat(2, 1, 1, 1) for f in features]).sample
            arrays["y"] = golden.channels_last(y)
            more = dict(unet=json.loads(unet.to_json_string()))
        golden.save(HERE, name, arrays, json.loads(net.to_json_string()), VERSIONS, height=H, width=W, factor=1.0, **more)
        stored = {}
        for official in net.state_dict():
            p = official.split(".")
            if p[1] == "conv_in":
                new = p[1:]
            elif name == "light":
                new = p[1:] if p[3] != "resnets" else ["body", p[2], "body", *p[4:]]
            else:  # one list of residual blocks; a level's 1×1 convolution stands in its first
                new = ["body", str(int(p[2]) * config["num_res_blocks"] + (int(p[4]) if p[3] == "resnets" else 0)), *(p[5:] if p[3] == "resnets" else p[3:])]
            stored[".".join(new)] = official
        names[name] = dict(names=stored, shapes={k: list(v.shape) for k, v in net.state_dict().items()})
    (HERE / "names.json").write_text(json.dumps(names, indent=0, sort_keys=True) + "\n")


main()
