"""Adapters in the layouts of those who write them, and the changes that they make to a pipeline's weights (make_lora.py)."""

import math
import re
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tools"))
import name_weights  # noqa: E402

TEXT = re.compile(r"text_model\.encoder\.layers\.\d+\.(self_attn\.(q|k|v|out)_proj|mlp\.fc[12])$")


def value(name, shape):
    return torch.from_numpy(name_weights.tensor(name, tuple(shape))) if shape else None


def layers(network, keep=lambda name: True):
    """Linear layers and convolutions: name → weight."""
    return {name: m.weight for name, m in network.named_modules()
            if isinstance(m, (torch.nn.Linear, torch.nn.Conv2d)) and m.weight.ndim >= 2 and keep(name)}


def attention(name):
    return ".attn1." in name or ".attn2." in name or ".attn." in name


class File:
    """An adapter under construction, and the changes that it makes."""

    def __init__(self):
        self.tensors, self.values, self.metadata, self.changes = {}, {}, {}, []

    def new(self, name, *shape):
        self.tensors[name] = list(shape)
        return value(name, shape)

    def number(self, name, number):
        self.values[name] = number
        return number

    def save(self, path, dtype=torch.float32):
        tensors = {name: value(name, shape).to(dtype).contiguous() for name, shape in self.tensors.items()}
        save_file(tensors | {name: torch.tensor(float(v)) for name, v in self.values.items()}, path, metadata=self.metadata or None)


def low_rank(file, module, shape, rank, names=("lora_down.weight", "lora_up.weight"), alpha=None, tucker=False):
    """The change of a LoRA, of a weight of this shape."""
    down_name, up_name = (f"{module}.{n}" if not n.startswith("_") else module + n for n in names)
    N, K, taps = shape[0], shape[1], list(shape[2:])
    one = [1] * len(taps)
    scale = file.number(f"{module}.alpha", alpha) / rank if alpha is not None else 1.0
    up = file.new(up_name, N, rank, *one)
    if tucker:
        down, mid = file.new(down_name, rank, K, *one), file.new(f"{module}.lora_mid.weight", rank, rank, *taps)
        return scale * torch.einsum("mnhw,im,nj->ijhw", mid, up.flatten(1), down.flatten(1))
    down = file.new(down_name, rank, K, *taps)
    return scale * (up.flatten(1) @ down.flatten(1)).reshape(shape)


def some(name):
    """A third of the modules, for adapters that change all kinds of them."""
    return sum(name.encode()) % 3 == 0


def kohya(component, name):
    return {"unet": "lora_unet_", "text_encoder": "lora_te_"}[component] + name.replace(".", "_")


def rank_of(name, ranks=(2, 4, 3)):
    return ranks[sum(name.encode()) % len(ranks)]


def make_kohya(pipe):
    """Kohya's scripts: attention, feed-forward and projections, ranks and alphas per module."""
    file = File()
    for component, network in (("unet", pipe.unet), ("text_encoder", pipe.text_encoder)):
        keep = (lambda n: attention(n) or ".ff." in n or ".proj_" in n) if component == "unet" else TEXT.search
        for name, w in layers(network, keep).items():
            r = rank_of(name)
            file.changes.append((component, name, "add", low_rank(file, kohya(component, name), w.shape, r, alpha=r / 2 + len(name) % 3)))
    return file


def make_diffusers(pipe, names=("lora_A.weight", "lora_B.weight"), inner=""):
    """diffusers' save_lora_weights: PEFT's names, rank 4, no alphas."""
    file = File()
    for component, network in (("unet", pipe.unet), ("text_encoder", pipe.text_encoder)):
        for name, w in layers(network, attention if component == "unet" else TEXT.search).items():
            file.changes.append((component, name, "add", low_rank(file, f"{component}.{inner}{name}", w.shape, 4, names)))
    return file


def make_old_diffusers(pipe):
    """Attention processors of diffusers 0.1x: processor.to_q_lora.down.weight; to_out without its number."""
    file = File()
    for name, w in layers(pipe.unet, attention).items():
        block, layer = name.rsplit(".to_", 1)
        file.changes.append(("unet", name, "add", low_rank(file, f"unet.{block}.processor.to_{layer.replace('out.0', 'out')}", w.shape, 4,
                                                         ("_lora.down.weight", "_lora.up.weight"))))
    return file


def make_locon(pipe):
    """LoCon: every layer and convolution of the UNet, kernels with a Tucker core where they have taps."""
    file = File()
    for name, w in layers(pipe.unet).items():
        tucker = w.ndim == 4 and w.shape[-1] > 1 and len(name) % 2 == 0
        file.changes.append(("unet", name, "add", low_rank(file, kohya("unet", name), w.shape, rank_of(name), alpha=1.5, tucker=tucker)))
    return file


def original_unet_names(unet):
    """CompVis' name of each block that diffusers names, by counting layers as CompVis builds them."""
    names, at = {}, 1
    for i, block in enumerate(unet.down_blocks):
        for j in range(len(block.resnets)):
            names[f"down_blocks.{i}.resnets.{j}"] = f"input_blocks.{at}.0"
            names[f"down_blocks.{i}.attentions.{j}"] = f"input_blocks.{at}.1"
            at += 1
        if block.downsamplers:
            names[f"down_blocks.{i}.downsamplers.0.conv"] = f"input_blocks.{at}.0.op"
            at += 1
    names |= {"mid_block.resnets.0": "middle_block.0", "mid_block.attentions.0": "middle_block.1", "mid_block.resnets.1": "middle_block.2"}
    at = 0
    for i, block in enumerate(unet.up_blocks):
        for j in range(len(block.resnets)):
            names[f"up_blocks.{i}.resnets.{j}"] = f"output_blocks.{at}.0"
            names[f"up_blocks.{i}.attentions.{j}"] = f"output_blocks.{at}.1"
            at += 1
        if block.upsamplers:
            attends = bool(getattr(block, "attentions", None))
            names[f"up_blocks.{i}.upsamplers.0.conv"] = f"output_blocks.{at - 1}.{2 if attends else 1}.conv"
    return names


RESNET = {"conv1": "in_layers.2", "time_emb_proj": "emb_layers.1", "conv2": "out_layers.3", "conv_shortcut": "skip_connection"}
ENDS = {"conv_in": "input_blocks.0.0", "conv_out": "out.2", "time_embedding.linear_1": "time_embed.0", "time_embedding.linear_2": "time_embed.2",
        "add_embedding.linear_1": "label_emb.0.0", "add_embedding.linear_2": "label_emb.0.2"}


def original_unet_name(names, name):
    if name in ENDS:
        return ENDS[name]
    block = max((b for b in names if name == b or name.startswith(b + ".")), key=len)
    rest = name[len(block):].lstrip(".")
    rest = RESNET.get(rest, rest)
    return names[block] + ("." + rest if rest else "")


def make_xl(pipe, original=True, prefixes=("lora_te1_", "lora_te2_")):
    """Kohya's scripts for SDXL: CompVis' names of the UNet's layers, two text encoders; OneTrainer: diffusers' names."""
    file = File()
    names = original_unet_names(pipe.unet)
    for name, w in layers(pipe.unet, lambda n: some(n) or n in ENDS).items():
        own = original_unet_name(names, name) if original else name
        file.changes.append(("unet", name, "add", low_rank(file, "lora_unet_" + own.replace(".", "_"), w.shape, rank_of(name), alpha=2.5)))
    for component, prefix in zip(("text_encoder", "text_encoder_2"), prefixes):
        for name, w in layers(getattr(pipe, component), lambda n: (TEXT.search(n) and some(n)) or n == "text_projection").items():
            file.changes.append((component, name, "add", low_rank(file, prefix + name.replace(".", "_"), w.shape, 3, alpha=1.0)))
    return file


def make_xl_diffusers(pipe):
    file = File()
    for component in ("unet", "text_encoder", "text_encoder_2"):
        for name, w in layers(getattr(pipe, component), attention if component == "unet" else TEXT.search).items():
            file.changes.append((component, name, "add", low_rank(file, f"{component}.{name}", w.shape, 4, ("lora_A.weight", "lora_B.weight"))))
    return file


# Modules of original files that hold several layers of diffusers, in the order of their rows.
MMDIT = {"x_block.attn.qkv": ["attn.to_q", "attn.to_k", "attn.to_v"], "x_block.attn.proj": ["attn.to_out.0"],
         "context_block.attn.qkv": ["attn.add_q_proj", "attn.add_k_proj", "attn.add_v_proj"], "context_block.attn.proj": ["attn.to_add_out"],
         "x_block.mlp.fc1": ["ff.net.0.proj"], "x_block.mlp.fc2": ["ff.net.2"], "context_block.mlp.fc1": ["ff_context.net.0.proj"],
         "context_block.mlp.fc2": ["ff_context.net.2"], "x_block.adaLN_modulation.1": ["norm1.linear"],
         "context_block.adaLN_modulation.1": ["norm1_context.linear"]}
DOUBLE = {"img_attn.qkv": ["attn.to_q", "attn.to_k", "attn.to_v"], "img_attn.proj": ["attn.to_out.0"],
          "txt_attn.qkv": ["attn.add_q_proj", "attn.add_k_proj", "attn.add_v_proj"], "txt_attn.proj": ["attn.to_add_out"],
          "img_mlp.0": ["ff.net.0.proj"], "img_mlp.2": ["ff.net.2"], "txt_mlp.0": ["ff_context.net.0.proj"], "txt_mlp.2": ["ff_context.net.2"],
          "img_mod.lin": ["norm1.linear"], "txt_mod.lin": ["norm1_context.linear"]}
SINGLE = {"linear1": ["attn.to_q", "attn.to_k", "attn.to_v", "proj_mlp"], "linear2": ["proj_out"], "modulation.lin": ["norm.linear"]}


def make_fused(pipe, groups, write, names=("lora_down.weight", "lora_up.weight"), alpha=2.0, ends=(), rank=None):
    """A LoRA of a transformer's original modules; `groups`: (original block, diffusers' block, modules)."""
    file = File()
    transformer = pipe.transformer
    parts = [(f"{original}.{module}", [f"{official}.{layer}" for layer in held], False)
             for original, official, modules in groups for module, held in modules.items()] + list(ends)
    for module, held, swapped in parts:
        try:
            weights = [transformer.get_submodule(layer).weight for layer in held]
        except AttributeError:  # the last block has no output for the text
            continue
        shape = (sum(w.shape[0] for w in weights), weights[0].shape[1])
        change = low_rank(file, write(module), shape, rank or rank_of(module), names, alpha=alpha)
        if swapped:
            change = change.roll(shape[0] // 2, 0)
        for layer, part in zip(held, change.split([w.shape[0] for w in weights])):
            file.changes.append(("transformer", layer, "add", part))
    return file


def with_underscores(prefix):
    return lambda module: prefix + module.replace(".", "_")


def joint_blocks(pipe):
    return [(f"joint_blocks.{i}", f"transformer_blocks.{i}", MMDIT if i + 1 < len(pipe.transformer.transformer_blocks) else
             {k: v for k, v in MMDIT.items() if k != "context_block.adaLN_modulation.1"})
            for i in range(len(pipe.transformer.transformer_blocks))]


def stream_blocks(pipe):
    t = pipe.transformer
    return [(f"double_blocks.{i}", f"transformer_blocks.{i}", DOUBLE) for i in range(len(t.transformer_blocks))] + [
        (f"single_blocks.{i}", f"single_transformer_blocks.{i}", SINGLE) for i in range(len(t.single_transformer_blocks))]


STREAM_ENDS = [("final_layer.adaLN_modulation.1", ["norm_out.linear"], True), ("final_layer.linear", ["proj_out"], False),
               ("img_in", ["x_embedder"], False), ("guidance_in.in_layer", ["time_text_embed.guidance_embedder.linear_1"], False)]


def make_transformer(pipe, prefix="transformer.", dots=True, text=()):
    """diffusers' names of a transformer's layers."""
    file = File()
    for name, w in layers(pipe.transformer, lambda n: attention(n) or ".ff" in n or "proj_mlp" in n).items():
        module = prefix + (name if dots else name.replace(".", "_"))
        names = ("lora_A.weight", "lora_B.weight") if dots else ("lora_down.weight", "lora_up.weight")
        file.changes.append(("transformer", name, "add", low_rank(file, module, w.shape, 3, names, alpha=None if dots else 2.0)))
    for component, own in text:
        keep = TEXT.search if "CLIP" in type(getattr(pipe, component)).__name__ else lambda n: n.startswith("encoder.block.") and n[-2:] in (".q", ".v", "wo")
        for name, w in layers(getattr(pipe, component), keep).items():
            file.changes.append((component, name, "add", low_rank(file, own + name.replace(".", "_"), w.shape, 2, alpha=1.0)))
    return file


def loha(file, module, shape, rank, alpha, tucker):
    N, K, taps = shape[0], shape[1], list(shape[2:])
    scale = file.number(f"{module}.alpha", alpha) / rank
    factors = []
    for i in ("1", "2"):
        if tucker:
            t = file.new(f"{module}.hada_t{i}", rank, rank, *taps)
            a, b = file.new(f"{module}.hada_w{i}_a", rank, N), file.new(f"{module}.hada_w{i}_b", rank, K)
            factors.append(torch.einsum("ij...,ip,jr->pr...", t, a, b))
        else:
            a, b = file.new(f"{module}.hada_w{i}_a", N, rank), file.new(f"{module}.hada_w{i}_b", rank, K * math.prod(taps))
            factors.append((a @ b).reshape(shape))
    check_against_lycoris("loha", file, module, factors[0] * factors[1], tucker)
    return scale * factors[0] * factors[1]


def lokr(file, module, shape, form, alpha):
    """form 0: both factors whole; 1: the second a product; 2: both products; 3: a Tucker core."""
    N, K, taps, rank = shape[0], shape[1], list(shape[2:]), 2
    a, b = (2 if N % 2 == 0 else 1), (2 if K % 2 == 0 else 1)
    c, d = N // a, K // b
    if form == 2:
        w1 = file.new(f"{module}.lokr_w1_a", a, rank) @ file.new(f"{module}.lokr_w1_b", rank, b)
    else:
        w1 = file.new(f"{module}.lokr_w1", a, b)
    if form == 0:
        w2 = file.new(f"{module}.lokr_w2", c, d, *taps)
    elif form == 3:
        w2 = torch.einsum("ij...,ip,jr->pr...", file.new(f"{module}.lokr_t2", rank, rank, *taps), file.new(f"{module}.lokr_w2_a", rank, c),
                          file.new(f"{module}.lokr_w2_b", rank, d))
    else:
        w2 = (file.new(f"{module}.lokr_w2_a", c, rank) @ file.new(f"{module}.lokr_w2_b", rank, d * math.prod(taps))).reshape(c, d, *taps)
    file.number(f"{module}.alpha", alpha)
    whole = torch.einsum("ab,cd...->acbd...", w1, w2).reshape(shape)
    return whole * (alpha / rank if form else 1.0)


def dora(file, module, name, change, shape, column):
    """The weight's direction and magnitude apart: a function of the weight and the strength."""
    one = [1] * (len(shape) - 2)
    m = file.new(f"{module}.dora_scale", *((1, shape[1]) if column else (shape[0], 1)), *one)

    def changed(w, strength):
        updated = w + change
        dims = [d for d in range(w.ndim) if d != (1 if column else 0)]
        return w + strength * (updated * (m / updated.square().sum(dims, keepdim=True).sqrt()) - w)

    return changed


def check_against_lycoris(kind, file, module, change, tucker):
    from lycoris.functional import loha as functional
    part = lambda name: value(f"{module}.{name}", file.tensors[f"{module}.{name}"])
    parts = [part(n) for n in ("hada_w1_b", "hada_w1_a", "hada_w2_b", "hada_w2_a")] + (
        [part("hada_t1"), part("hada_t2")] if tucker else [None, None])
    theirs = functional.diff_weight(*parts, gamma=1.0).reshape(change.shape)
    assert torch.allclose(theirs, change, atol=1e-5), (kind, module)


def make_kind(pipe, kind):
    """One kind of LyCORIS on the UNet's layers, kernels among them, and on the text encoder."""
    file = File()
    modules = [("unet", name, w) for name, w in layers(pipe.unet, some).items()]
    modules += [("text_encoder", name, w) for name, w in layers(pipe.text_encoder, lambda n: TEXT.search(n) and some(n)).items()]
    for i, (component, name, w) in enumerate(modules):
        module, shape = kohya(component, name), tuple(w.shape)
        kernel = w.ndim == 4 and w.shape[-1] > 1
        layer = getattr(pipe, component).get_submodule(name)
        if kind == "loha":
            file.changes.append((component, name, "add", loha(file, module, shape, 2, 1.5, kernel and i % 2 == 0)))
        elif kind.startswith("lokr"):
            form = int(kind[-1])
            if form == 3 and not kernel:
                continue
            file.changes.append((component, name, "add", lokr(file, module, shape, form, 1.0)))
        elif kind.startswith("dora"):
            change = low_rank(file, module, shape, 3, alpha=1.5)
            file.changes.append((component, name, "set", dora(file, module, name, change, shape, column=kind == "dora_columns")))
        elif kind == "ia3":
            on_input = i % 3 == 0
            n = shape[1 if on_input else 0]
            scale = file.new(f"{module}.weight", *((1, n, 1, 1) if w.ndim == 4 else (n,)))
            file.number(f"{module}.on_input", int(on_input))
            scale = scale.reshape(([1, n] if on_input else [n, 1]) + [1] * (w.ndim - 2))
            file.changes.append((component, name, "set", lambda w, s, scale=scale: w * (1 + s * scale)))
        elif kind == "diff":
            file.changes.append((component, name, "add", file.new(f"{module}.diff", *shape)))
            if layer.bias is not None and i % 2:
                file.changes.append((component, name, "add_bias", file.new(f"{module}.diff_b", shape[0])))
    if kind == "diff":
        for component, network in (("unet", pipe.unet), ("text_encoder", pipe.text_encoder)):
            for name, m in network.named_modules():
                if isinstance(m, (torch.nn.LayerNorm, torch.nn.GroupNorm)) and some(name):
                    file.changes.append((component, name, "add", file.new(f"{kohya(component, name)}.w_norm", *m.weight.shape)))
                    file.changes.append((component, name, "add_bias", file.new(f"{kohya(component, name)}.b_norm", *m.bias.shape)))
    return file


def make_peft_dora(pipe):
    """PEFT's names; diffusers' loader leaves the magnitudes out of files with kohya's."""
    file = File()
    for name, w in layers(pipe.unet, lambda n: attention(n) or ".ff." in n).items():
        change = low_rank(file, f"unet.{name}", w.shape, 4, ("lora_A.weight", "lora_B.weight"))
        m = file.new(f"unet.{name}.lora_magnitude_vector", w.shape[0])
        file.changes.append(("unet", name, "set", lambda own, _, change=change, m=m: (own + change) * (m / (own + change).norm(dim=1))[:, None]))
    return file


def make_plain(pipe, convolutions=False):
    """Kohya's scripts with one rank and alpha for all modules: diffusers' loader gives modules of other ranks the alpha of most modules."""
    file = File()
    xl = hasattr(pipe, "text_encoder_2")
    names = original_unet_names(pipe.unet) if xl else {}
    keep = (lambda n: attention(n) or ".ff." in n or ".proj_" in n or (convolutions and ".conv" in n and ".resnets." in n))
    for name, w in layers(pipe.unet, keep).items():
        module = "lora_unet_" + (original_unet_name(names, name) if xl else name).replace(".", "_")
        file.changes.append(("unet", name, "add", low_rank(file, module, w.shape, 4, alpha=2.0)))
    for component, prefix in (("text_encoder", "lora_te1_" if xl else "lora_te_"), ("text_encoder_2", "lora_te2_"))[:2 if xl else 1]:
        for name, w in layers(getattr(pipe, component), TEXT.search).items():
            file.changes.append((component, name, "add", low_rank(file, prefix + name.replace(".", "_"), w.shape, 4, alpha=2.0)))
    return file


def make_text_transformer(pipe, encoders):
    """diffusers' save_lora_weights of a transformer and text encoders."""
    file = make_transformer(pipe)
    for component in encoders:
        for name, w in layers(getattr(pipe, component), TEXT.search).items():
            file.changes.append((component, name, "add", low_rank(file, f"{component}.{name}", w.shape, 3, ("lora_A.weight", "lora_B.weight"))))
    return file


def make_flux_plain(pipe):
    """Kohya's names, without the module whose rows diffusers' converter cuts at the published sizes only."""
    groups = [(o, d, {k: v for k, v in modules.items() if k != "linear1"}) for o, d, modules in stream_blocks(pipe)]
    file = make_fused(pipe, groups, with_underscores("lora_unet_"), rank=3)
    for name, w in layers(pipe.text_encoder, TEXT.search).items():
        file.changes.append(("text_encoder", name, "add", low_rank(file, "lora_te1_" + name.replace(".", "_"), w.shape, 3, alpha=1.0)))
    return file
