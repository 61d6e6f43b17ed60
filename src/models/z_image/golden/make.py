"""Goldens of Z-Image's transformer from diffusers' ZImageTransformer2DModel.   python src/models/z_image/golden/make.py

Made with torch 2.15.0, diffusers 0.39.0. Writes one file per configuration; perturbed.safetensors: one base configuration with one key
changed at a time; z-image.json: the full-size network.
"""
import json
import sys
from pathlib import Path

import diffusers
import torch
from diffusers import ZImageTransformer2DModel
from diffusers.models.transformers import transformer_z_image as module

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"diffusers {diffusers.__version__}, torch {torch.__version__}"
SMALL = dict(in_channels=4, dim=24, n_layers=3, n_refiner_layers=1, n_heads=2, n_kv_heads=2, cap_feat_dim=10, axes_dims=[4, 2, 6], axes_lens=[96, 20, 20])

# name: (config, [height, width] in latent pixels, text tokens of each image, times, factor)
CASES = {
    # an odd number of image tokens and of text tokens, both padded; two images with the same text
    "small": (SMALL, [6, 10], [5, 5], [0.0015625, 0.75], 1.0),
    # exactly a multiple of 32 of each: no padding
    "full": (dict(SMALL, n_layers=1, n_refiner_layers=2, n_heads=3, n_kv_heads=3, axes_dims=[2, 4, 2]), [8, 16], [32], [0.5], 1.0),
    # texts of different lengths in one batch of the reference
    "lengths": (dict(SMALL, dim=16, axes_dims=[2, 2, 4]), [2, 14], [3, 40], [0.25, 1.0], 1.0),
    # no norms of queries and keys
    "plain": (dict(SMALL, qk_norm=False, n_layers=1), [4, 4], [1], [0.9], 1.0),
    # weights × 0.03: every norm sees a small variance, so that a wrong eps shows
    "faint": (dict(SMALL, n_layers=1), [4, 6], [2], [0.1], 0.03),
}


def exact_rotation(self, attn, hidden_states, encoder_hidden_states=None, attention_mask=None, freqs_cis=None):
    """The processor in f64; the reference casts queries and keys to f32 to rotate them."""
    split = lambda x: x.unflatten(-1, (attn.heads, -1))  # noqa: E731
    q, k, v = split(attn.to_q(hidden_states)), split(attn.to_k(hidden_states)), split(attn.to_v(hidden_states))
    if attn.norm_q is not None:
        q, k = attn.norm_q(q), attn.norm_k(k)
    if freqs_cis is not None:
        turn = lambda x: torch.view_as_real(torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * freqs_cis.unsqueeze(2)).flatten(3)  # noqa: E731
        q, k = turn(q), turn(k)
    mask = attention_mask[:, None, None, :] if attention_mask is not None else None
    y = torch.nn.functional.scaled_dot_product_attention(*(x.transpose(1, 2) for x in (q, k, v)), attn_mask=mask)
    return attn.to_out[0](y.transpose(1, 2).flatten(2, 3))


class RmsNorm64(torch.nn.Module):
    def __init__(self, weight, eps):
        super().__init__()
        self.weight, self.eps = weight, eps

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


def in_double(net):
    """Norms, sinusoids and rotations in f64, which the reference computes in f32."""
    for parent in list(net.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, (module.RMSNorm, torch.nn.RMSNorm)):
                setattr(parent, name, RmsNorm64(child.weight, child.eps))
    return net


module.ZSingleStreamAttnProcessor.__call__ = exact_rotation


def run(config, size, lengths, times, factor, taps):
    net = in_double(golden.prepare(ZImageTransformer2DModel(**config), factor))
    blocks = ("noise_refiner.", "context_refiner.", "layers.")
    tap = golden.Taps(net, lambda name: name.startswith(blocks) and name.count(".") == 1) if taps and len(set(lengths)) == 1 else None
    c, n, (h, w) = net.config, len(lengths), size
    x = torch.from_numpy(golden.values("input.x", n, h, w, c.in_channels)).double().permute(0, 3, 1, 2)
    text = torch.from_numpy(golden.values("input.text", n, max(lengths), c.cap_feat_dim)).double()
    with torch.no_grad():
        y = net([image.unsqueeze(1) for image in x], torch.tensor(times, dtype=torch.float64), [text[i, :k] for i, k in enumerate(lengths)]).sample
    y = torch.stack([image.squeeze(1) for image in y]).permute(0, 2, 3, 1).contiguous()
    return net, y.float().numpy(), tap.arrays if tap else {}


def facts(size, lengths, times, factor):
    return dict(size=size, lengths=lengths, times=times, factor=factor)


def cases():
    for name, (config, *rest) in CASES.items():
        net, y, taps = run(config, *rest, True)
        golden.save(HERE, name, {"y": y, **taps}, json.loads(net.to_json_string()), VERSIONS, **facts(*rest))


BASE = (dict(SMALL, n_layers=1), [4, 6], [3], [0.3], 1.0)
CHANGES = {"in_channels": [6], "n_layers": [2], "n_refiner_layers": [2], "cap_feat_dim": [7], "norm_eps": [0.1], "qk_norm": [False], "rope_theta": [100.0],
           "t_scale": [10.0], "axes_dims": [[2, 2, 8], [8, 2, 2]], "axes_lens": [[200, 30, 30]]}


def perturbed():
    config, *rest = BASE
    net, base, _ = run(config, *rest, False)
    arrays, changes = {"base": base}, []
    for key, alternatives in CHANGES.items():
        for value in alternatives:
            _, y, _ = run({**config, key: value}, *rest, False)
            changes.append({"key": key, "value": value, "same": golden.same(torch.from_numpy(y), torch.from_numpy(base))})
            arrays[f"y.{len(changes) - 1}"] = y
            print("  same" if changes[-1]["same"] else "  other", key, value)
    golden.save(HERE, "perturbed", arrays, json.loads(net.to_json_string()), VERSIONS, changes=changes, **facts(*rest))


FULL = json.loads((HERE.parent / "configs/z-image-turbo/transformer/config.json").read_text())


def structure():
    with torch.device("meta"):
        net = ZImageTransformer2DModel.from_config(FULL)
    # The reference computes the last layer for text and padding, too, and drops the result.
    net.all_final_layer["2-1"].register_forward_pre_hook(lambda _, given: (given[0][:, :64],))
    net.rope_embedder = lambda ids: torch.zeros(len(ids), 64, dtype=torch.complex64, device="meta")
    with torch.device("meta"):
        golden.save_structure(HERE, "z-image", net, VERSIONS, [torch.zeros(16, 1, 16, 16)], torch.zeros(1), [torch.zeros(32, 2560)], **FULL)


if __name__ == "__main__":
    structure()
    golden.save_defaults(HERE, json.loads(ZImageTransformer2DModel.from_config({"n_layers": 1, "n_refiner_layers": 1}).to_json_string())
                         | {"n_layers": 30, "n_refiner_layers": 2})
    cases()
    perturbed()
