"""Goldens of IP-Adapter's projections from diffusers. python src/parts/ip_adapter/golden/make.py

Made with torch 2.15.0, diffusers 0.39.0. The tensors have the names of the published files, by which the weights are made; diffusers' own
conversion puts them into its modules.
"""
import sys
from pathlib import Path

import diffusers
import torch
from diffusers import UNet2DConditionModel

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402
import name_weights  # noqa: E402

VERSIONS = f"diffusers {diffusers.__version__}, torch {torch.__version__}"
WIDTH = 12
ATTENDS = [16, 16, 24]


def value(name, shape):
    """A tensor of the file by its name; of keys and values in one matrix, by the names that hearth gives its halves."""
    if ".to_kv." not in name:
        return torch.from_numpy(name_weights.tensor(name, shape))
    half = (shape[0] // 2, shape[1])
    return torch.cat([torch.from_numpy(name_weights.tensor(name.replace("to_kv", part), half)) for part in ("to_k", "to_v")])


def linear(name, out, into, bias=True):
    return {f"{name}.weight": (out, into), **({f"{name}.bias": (out,)} if bias else {})}


def norm(name, width):
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


def resampler(into, hidden, tokens, layers, heads):
    shapes = {"latents": (1, tokens, hidden), **linear("proj_in", hidden, into), **linear("proj_out", WIDTH, hidden), **norm("norm_out", WIDTH)}
    for i in range(layers):
        a, f = f"layers.{i}.0", f"layers.{i}.1"
        shapes |= {**norm(f"{a}.norm1", hidden), **norm(f"{a}.norm2", hidden), **linear(f"{a}.to_q", 64 * heads, hidden, False),
                   **linear(f"{a}.to_kv", 128 * heads, hidden, False), **linear(f"{a}.to_out", hidden, 64 * heads, False),
                   **norm(f"{f}.0", hidden), **linear(f"{f}.1", 4 * hidden, hidden, False), **linear(f"{f}.3", hidden, 4 * hidden, False)}
    return shapes


CASES = {
    "vector": ({**linear("proj", 4 * WIDTH, 10), **norm("norm", WIDTH)}, (2, 10)),
    "states": ({**linear("proj.0", 14, 14), **linear("proj.2", WIDTH, 14), **norm("proj.3", WIDTH)}, (2, 5, 14)),
    "resampler": (resampler(9, 20, 3, 4, 2), (2, 5, 9)),
    "face": ({**linear("proj.0", 16, 8), **linear("proj.2", 4 * WIDTH, 16), **norm("norm", WIDTH)}, (2, 8)),
    # FaceID Plus: of the vector's projection, and of a resampler that starts with its tokens
    "face_and_states": ({**linear("proj.0", 16, 8), **linear("proj.2", 4 * WIDTH, 16), **norm("norm", WIDTH),
                         **{f"perceiver_resampler.{k}": v for k, v in resampler(9, WIDTH, 3, 4, 2).items() if k != "latents"}}, (2, 8)),
}


def main():
    unet = UNet2DConditionModel(block_out_channels=(8, 8), down_block_types=("DownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "UpBlock2D"),
                                norm_num_groups=2, cross_attention_dim=WIDTH, layers_per_block=1)
    for kind, (shapes, given) in CASES.items():
        named = {f"image_proj.{name}": shape for name, shape in shapes.items()}
        for i, channels in enumerate(ATTENDS):
            for what in ("to_k_ip", "to_v_ip"):
                named[f"ip_adapter.{2 * i + 1}.{what}.weight"] = (channels, WIDTH)
        file = {name: value(name, shape) for name, shape in named.items()}
        net = unet._convert_ip_adapter_image_proj_to_diffusers(
            {name.removeprefix("image_proj."): tensor.double() for name, tensor in file.items() if name.startswith("image_proj.")}, low_cpu_mem_usage=False).double()
        more = {}
        with torch.no_grad():
            if kind == "face_and_states":
                net.clip_embeds = torch.from_numpy(golden.values("input.states", 2, 1, 5, 9)).double()
                net.shortcut = True
                more = {"shortcut": net(torch.from_numpy(golden.values("input.image", *given)).double()).float().numpy()}
                net.shortcut = False
            y = net(torch.from_numpy(golden.values("input.image", *given)).double())
        golden.save(HERE, kind, {"tokens": y.float().numpy(), **more}, {"kind": kind}, VERSIONS, given=list(given), attends=ATTENDS,
                    tensors={name: list(shape) for name, shape in named.items()}, factor=1.0)


torch.set_default_dtype(torch.float64)
main()
