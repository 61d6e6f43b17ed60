"""RWKV-7 of the authors' package rwkv, with weights that are named as in flash-linear-attention.

The package's eps of norms, 1e-5 and 64e-5, are norm_eps and head_dim · norm_eps here.
"""
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "parts/decoder/golden"))
import authors_rwkv as authors  # noqa: E402
import torch  # noqa: E402

package = authors.package(version=7)


def shapes(c):
    """Of the tensors, in the layout of flash-linear-attention."""
    C, V = c["hidden_size"], c["vocab_size"]
    inner = c["intermediate_size"] or -(-int(C * c["hidden_ratio"]) // 32) * 32
    all = {"model.embeddings.weight": [V, C], "model.norm.weight": [C], "model.norm.bias": [C]}
    if c["norm_first"]:
        all |= {"model.layers.0.pre_norm.weight": [C], "model.layers.0.pre_norm.bias": [C]}
    if not c["tie_word_embeddings"]:
        all["lm_head.weight"] = [V, C]
    for i in range(c["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        for norm in ("attn_norm", "ffn_norm", "attn.g_norm"):
            all |= {f"{layer}{norm}.weight": [C], f"{layer}{norm}.bias": [C]}
        for letter in "rwkvag":
            all[f"{layer}attn.x_{letter}"] = [1, 1, C]
        for letter, rank in (("w", "decay"), ("a", "a"), ("v", "v"), ("g", "gate")):
            if letter == "v" and i == 0:
                continue
            size = c[f"{rank}_low_rank_dim"]
            all |= {f"{layer}attn.{letter}_lora.lora.0.weight": [size, C], f"{layer}attn.{letter}_lora.lora.2.weight": [C, size]}
            if letter != "g":
                all[f"{layer}attn.{letter}_lora.lora.2.bias"] = [C]
        for letter in "rkvo":
            all[f"{layer}attn.{letter}_proj.weight"] = [C, C]
        all |= {f"{layer}attn.k_k": [C], f"{layer}attn.k_a": [C], f"{layer}attn.r_k": [C // c["head_dim"], c["head_dim"]], f"{layer}ffn.x_k": [C],
                f"{layer}ffn.key.weight": [inner, C], f"{layer}ffn.value.weight": [C, inner]}
    return all if c["norm_bias"] else {name: shape for name, shape in all.items() if not name.endswith("norm.bias") or ".g_norm." in name}


def authors_tensors(c, published):
    z = {}
    for name, x in published.items():
        n = name.replace("model.layers.0.pre_norm", "blocks.0.ln0").replace("model.layers.", "blocks.").replace(".attn_norm.", ".ln1.")
        n = n.replace(".ffn_norm.", ".ln2.").replace(".attn.g_norm.", ".att.ln_x.").replace(".attn.", ".att.").replace("model.norm", "ln_out")
        n = n.replace("model.embeddings", "emb").replace("lm_head", "head")
        for letter, long in (("r", "receptance"), ("k", "key"), ("v", "value"), ("o", "output")):
            n = n.replace(f"{letter}_proj", long)
        if "_lora" in n:
            letter = n[n.index("_lora") - 1]
            part = {"lora.0.weight": "1", "lora.2.weight": "2", "lora.2.bias": "0"}[n.split("_lora.")[1]]
            n, x = n.split(letter + "_lora")[0] + letter + part, x.T.contiguous() if part != "0" else x
        z[n] = x
    for name in [n for n in z if n.startswith(("ln", "blocks.")) and ".ln" in "." + n and n.endswith(".weight")]:
        z.setdefault(name.replace(".weight", ".bias"), torch.zeros(c["hidden_size"]))
    for part in "012":
        z[f"blocks.0.att.v{part}"] = z[f"blocks.0.att.a{part}"]  # not read
    if c["tie_word_embeddings"]:
        z["head.weight"] = z["emb.weight"]
    if not c["norm_first"]:
        C = c["hidden_size"]
        z["blocks.0.ln0.weight"], z["blocks.0.ln0.bias"] = torch.ones(C), torch.zeros(C)
    return z


def network(c, published=None):
    """published: the tensors by name; as the recipes have them if not given."""
    authors.eps.update(layer=c["norm_eps"], group=c["head_dim"] * c["norm_eps"])
    z = authors_tensors(c, published or authors.tensors(shapes(c)))
    with tempfile.TemporaryDirectory() as folder:
        torch.save(z, f"{folder}/model.pth")
        net = package.RWKV_x070(f"{folder}/model", "cpu fp32")
    if not c["norm_first"]:
        net.z["emb.weight"] = z["emb.weight"].double()
    return net
