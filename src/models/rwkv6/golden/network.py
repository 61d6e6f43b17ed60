"""RWKV-6 of the authors' package rwkv, with weights that are named as in the published folders.

The package's eps of norms, 1e-5 and 64e-5, are layer_norm_epsilon and 1e-5 · head_size_divisor² here.
"""
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "parts/decoder/golden"))
import authors_rwkv as authors  # noqa: E402
import torch  # noqa: E402

package = authors.package(version=6)


def shapes(c):
    """Of the tensors, as in the published folders."""
    C, V = c["hidden_size"], c["vocab_size"]
    inner, mix, decay = c["intermediate_size"] or int(C * 3.5) // 32 * 32, c["time_mix_extra_dim"], c["time_decay_extra_dim"]
    all = {"rwkv.embeddings.weight": [V, C]}
    if not c["tie_word_embeddings"]:
        all["head.weight"] = [V, C]
    norms = ["rwkv.ln_out", "rwkv.blocks.0.pre_ln"]
    for i in range(c["num_hidden_layers"]):
        block = f"rwkv.blocks.{i}."
        norms += [f"{block}{norm}" for norm in ("ln1", "ln2", "attention.ln_x")]
        all |= {f"{block}attention.time_maa_{letter}": [1, 1, C] for letter in "xwkvrg"}
        all |= {f"{block}attention.time_maa_w1": [C, 5 * mix], f"{block}attention.time_maa_w2": [5, mix, C], f"{block}attention.time_decay": [1, 1, C],
                f"{block}attention.time_decay_w1": [C, decay], f"{block}attention.time_decay_w2": [decay, C],
                f"{block}attention.time_faaaa": [C // c["head_size"], c["head_size"]]}
        all |= {f"{block}attention.{name}.weight": [C, C] for name in ("receptance", "key", "value", "gate", "output")}
        all |= {f"{block}feed_forward.time_maa_{letter}": [1, 1, C] for letter in "kr"}
        all |= {f"{block}feed_forward.key.weight": [inner, C], f"{block}feed_forward.value.weight": [C, inner],
                f"{block}feed_forward.receptance.weight": [C, C]}
    return all | {f"{norm}.{part}": [C] for norm in norms for part in ("weight", "bias")}


def network(c, published=None):
    """published: the tensors by name; as the recipes have them if not given."""
    authors.eps.update(layer=c["layer_norm_epsilon"], group=1e-5 * c["head_size_divisor"] ** 2)
    z = {}
    for name, x in (published or authors.tensors(shapes(c))).items():
        n = name.removeprefix("rwkv.").replace("attention", "att").replace("feed_forward", "ffn").replace("pre_ln", "ln0").replace("embeddings", "emb")
        z[n] = x
    if c["tie_word_embeddings"]:
        z["head.weight"] = z["emb.weight"].clone()
    with tempfile.TemporaryDirectory() as folder:
        torch.save(z, f"{folder}/model.pth")
        return package.RWKV(f"{folder}/model", "cpu fp32", verbose=False)
