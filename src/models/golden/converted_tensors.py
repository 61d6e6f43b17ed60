"""What llama.cpp's converter makes of the tensors of each family (converted.py): functions of a published name, values and what config.json says,
which yield the names and values of tensors; and their names in GGUF files."""
import gguf
import numpy as np


def gguf_name(arch, name, layers):
    """By the package's tables, with the suffix that the converter adds for some families."""
    names = gguf.get_tensor_name_map(arch, layers)
    new = names.get_name(name.replace(".norms.weight", ".weight"), try_suffixes=(".weight", ".bias")) or names.get_name(name)
    assert new, name
    return new if new.endswith((".weight", ".bias")) or "rwkv" not in gguf.MODEL_ARCH_NAMES[arch] else new + ".weight"


def permuted(x, heads):
    return x.reshape(heads, 2, x.shape[0] // heads // 2, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


def llama_rows(name, x, c):
    """Halves of rotated heads side by side."""
    for part, heads in (("q_proj", c["num_attention_heads"]), ("k_proj", c["num_key_value_heads"])):
        if f".{part}." in name:
            yield name, permuted(x, heads)
            return
    yield name, x


def plus_one(name, x, c):
    if name != "lm_head.weight":
        yield name, x + 1 if name.endswith("norm.weight") else x


def without_biases(name, x, c):
    if not name.endswith(".bias"):
        yield name, x


def halves_of_kv_b(name, x, c):
    name = name.replace("e_score_correction_bias", "e_score_correction.bias")
    if not name.endswith("kv_b_proj.weight"):
        yield name, x
        return
    both = x.reshape(c["num_attention_heads"], c["v_head_dim"] + c["qk_nope_head_dim"], x.shape[-1])
    yield name.replace("kv_b_proj", "k_b_proj"), both[:, : c["qk_nope_head_dim"]].swapaxes(1, 2)
    yield name.replace("kv_b_proj", "v_b_proj"), both[:, c["qk_nope_head_dim"] :]


def interleaved(name, x, c):
    """gpt-oss: gate and up in turn, experts' matrices [in, out]."""
    if "sinks" in name:
        yield name + ".weight", x
    elif "gate_up_proj" in name:
        x = x if name.endswith("_bias") else x.swapaxes(1, 2)
        kind = "bias" if name.endswith("_bias") else "weight"
        stem = name.split("gate_up_proj")[0]
        yield f"{stem}gate_proj.{kind}", x[:, ::2]
        yield f"{stem}up_proj.{kind}", x[:, 1::2]
    elif name.endswith("down_proj_bias"):
        yield name.replace("down_proj_bias", "down_proj.bias"), x
    elif name.endswith("down_proj"):
        yield name + ".weight", x.swapaxes(1, 2)
    else:
        yield name, x


def squeezed(name, x, c):
    """As older converters wrote all tensors."""
    yield name, x.squeeze()


def state_space(name, x, c):
    if name.endswith(".A_log"):
        x = -np.exp(x)
    elif ".conv1d.weight" in name:
        x = x.squeeze()
    yield name.replace(".feed_forward.experts.", ".mlp.experts."), x


def columns_and_groups(name, x, c):
    if name.endswith(("mixer.A_log", "mixer.D")):
        x = x.reshape(-1, 1)
    elif name.endswith("mixer.norm.weight"):
        x = x.reshape(c["n_groups"], -1)
    yield from state_space(name.replace(".dt_bias", ".dt_proj.bias"), x, c)


def by_kind(name, x, c):
    """Qwen3-Next: rows of the same kind together."""
    layer = name.split(".linear_attn.")[0].removeprefix("model.layers.")
    if name.endswith("norm.weight") and ".linear_attn." not in name:
        x = x + 1
    if ".in_proj_qkvz." not in name:
        yield from state_space(name.replace(".dt_bias", ".dt_proj.bias"), x, c)
        return
    keys, values = c["linear_key_head_dim"], c["linear_value_head_dim"] * c["linear_num_value_heads"] // c["linear_num_key_heads"]
    parts = np.split(x.reshape(c["linear_num_key_heads"], -1, x.shape[-1]), np.cumsum([keys, keys, values]), axis=1)
    q, k, v, z = (part.reshape(-1, x.shape[-1]) for part in parts)
    yield f"blk.{layer}.attn_qkv.weight", np.concatenate([q, k, v])
    yield f"blk.{layer}.attn_gate.weight", z


def shifts_of_6(name, x, c):
    name = gguf_name(gguf.MODEL_ARCH.RWKV6, name, c["num_hidden_layers"])
    if name.endswith(("time_mix_w1.weight", "time_mix_decay_w1.weight", "time_mix_decay_w2.weight")):
        x = x.T
    elif name.endswith("time_mix_w2.weight"):
        x = x.swapaxes(1, 2)
    elif name.endswith("time_mix_decay.weight") or "lerp" in name:
        x = x.squeeze()
    if name.endswith(("time_mix_output.weight", "channel_mix_value.weight")):
        x = x / 2 ** (int(name.split(".")[1]) // c["rescale_every"])
    yield name, x


def shifts_of_7(name, x, c):
    name = name.replace("ffn", "feed_forward").replace("attn", "attention")
    for part, other in (("lora.0.weight", "1.weight"), ("lora.2.weight", "2.weight"), ("lora.2.bias", "0.weight")):
        name = name.replace("_lora." + part, other)
    name = name.replace("feed_forward_norm", "ln2").replace("g_norm", "ln_x")
    if ".attention.x_" in name:
        yield f"blk.{name.split('.')[2]}.time_mix_lerp_{name[-1]}.weight", x
        return
    x, new = x.squeeze(), gguf_name(gguf.MODEL_ARCH.RWKV7, name, c["num_hidden_layers"])
    if new.startswith("blk.0.time_mix_a"):
        yield new.replace("time_mix_a", "time_mix_v"), x
    yield new, x.flatten() if "r_k" in new else x


def fused_shifts(tensors, letters):
    """The shifts of each layer as one tensor [n, 1, 1, C], in the place of the last."""
    left = {}
    for name, x in tensors:
        stem, _, letter = name.removesuffix(".weight").rpartition("_")
        if not stem.endswith("time_mix_lerp") or letter not in letters:
            yield name, x
            continue
        left.setdefault(stem, {})[letter] = x.reshape(1, 1, -1)
        if len(left[stem]) == len(letters):
            yield f"{stem}_fused.weight", np.stack([left[stem][letter] for letter in letters])


def stacked(tensors, names):
    """Numbered tensors (NAME with # for the number) as one, in the place of the last."""
    left = {}
    for name, x in tensors:
        parts = name.split(".")
        at = [i for i, p in enumerate(parts) if p.isdigit()]
        pattern = ".".join(parts[: at[1]] + parts[at[1] + 1 :]) if len(at) == 2 and parts[at[1] - 1] in names else None
        if not pattern:
            yield name, x
            continue
        left.setdefault(pattern, {})[int(parts[at[1]])] = x
    for pattern, all_of in left.items():
        yield pattern, np.stack([all_of[i] for i in range(len(all_of))])


def fused(net):
    """The tensors of ChatGLM's own checkpoints: queries, keys and values in one matrix."""
    all_of = dict(net)
    for name in [n for n in all_of if ".q_proj." in n]:
        parts = [all_of.pop(name.replace("q_proj", p)) for p in ("q_proj", "k_proj", "v_proj")]
        all_of[name.replace("self_attn.q_proj", "self_attn.qkv_proj")] = np.concatenate(parts)
    return all_of


def ggml_blocks(blocks, scales):
    """MXFP4 as GGUF files have it, 17 bytes for 32 values: the exponent; in byte i the value i and, above it, the value i + 16. In the
    published tensors byte i has the values 2 i and 2 i + 1."""
    codes = np.stack([blocks & 15, blocks >> 4], axis=-1).reshape(*blocks.shape[:-1], 32)
    y = np.concatenate([scales[..., None], codes[..., :16] | codes[..., 16:] << 4], axis=-1).astype(np.uint8)
    return y.reshape(*y.shape[:-2], -1)
