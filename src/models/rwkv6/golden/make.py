"""Goldens of RWKV-6 from the authors' package rwkv (RWKV), without compiled kernels.
python src/models/rwkv6/golden/make.py

Weights are named as in the published folders and handed to the package under the authors' names. The package computes in float32; its eps of
norms, 1e-5 and 64e-5, are layer_norm_epsilon and 1e-5 · head_size_divisor² here.
Made with torch 2.15.0, rwkv 0.8.32.
"""
import os
import sys
import tempfile
from pathlib import Path

os.environ.update(PYTORCH_JIT="0", RWKV_V7_ON="0", RWKV_JIT_ON="0", RWKV_CUDA_ON="0")
import torch  # noqa: E402
import rwkv.model  # noqa: E402

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import recipe  # noqa: E402

torch.set_default_dtype(torch.float32)
VERSIONS = f"rwkv 0.8.32, torch {torch.__version__}"
layer_norm, group_norm = torch.nn.functional.layer_norm, torch.nn.functional.group_norm
eps = {}
torch.nn.functional.layer_norm = lambda *args, **named: layer_norm(*args, **{**named, "eps": eps["layer"]})
torch.nn.functional.group_norm = lambda *args, **named: group_norm(*args, **{**named, "eps": eps["group"]})

SMALL = dict(model_type="rwkv6", model_version="6_0", vocab_size=57, hidden_size=24, num_hidden_layers=3, head_size=6, head_size_divisor=8,
             intermediate_size=40, attention_hidden_size=24, num_attention_heads=64, layer_norm_epsilon=1e-5, rescale_every=6, context_length=512,
             tie_word_embeddings=False, use_cache=True, time_mix_extra_dim=5, time_decay_extra_dim=7)


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


def network(c):
    eps.update(layer=c["layer_norm_epsilon"], group=1e-5 * c["head_size_divisor"] ** 2)
    z = {}
    for name, shape in shapes(c).items():
        n = name.removeprefix("rwkv.").replace("attention", "att").replace("feed_forward", "ffn").replace("pre_ln", "ln0").replace("embeddings", "emb")
        z[n] = torch.from_numpy(recipe.name_weights.tensor(name, tuple(shape)))
    if c["tie_word_embeddings"]:
        z["head.weight"] = z["emb.weight"].clone()
    with tempfile.TemporaryDirectory() as folder:
        torch.save(z, f"{folder}/model.pth")
        return rwkv.model.RWKV(f"{folder}/model", "cpu fp32", verbose=False)


def logits(net, ids):
    return net.forward(list(ids), None, full_output=True)[0].float().numpy()


def greedy(net, ids, count):
    y, state = net.forward(list(ids), None)
    out, lead = [], float("inf")
    for _ in range(count):
        best = y.topk(2)
        lead = min(lead, float(best.values[0] - best.values[1]))
        out.append(int(best.indices[0]))
        y, state = net.forward([out[-1]], state)
    return out, lead


def case(name, c, ids, continue_for=0, thin=1):
    net = network(c)
    more, lead = greedy(net, ids, continue_for)
    print(f"  {name}: smallest lead of a greedy token {lead:.2e}")
    recipe.golden.save(HERE, name, {"logits": logits(net, ids)[::thin]}, c, VERSIONS, ids=ids, factor=1.0, thin=thin, greedy=more, shapes=shapes(c))


def perturbed(base, ids, changes):
    y = logits(network(base), ids)
    arrays, told = {"base": y}, []
    for key, values in changes.items():
        for value in values:
            c = {**base, key: value}
            z = logits(network(c), ids)
            arrays[str(len(told))] = z
            told.append({"key": key, "value": value, "same": recipe.golden.same(z, y), "shapes": recipe.difference(shapes(base), shapes(c))})
            print("  same" if told[-1]["same"] else "  other", key, value)
    recipe.golden.save(HERE, "perturbed", arrays, base, VERSIONS, changes=told, ids=ids, factor=1.0, shapes=shapes(base))


case("small", SMALL, recipe.tokens(31, 57), 256)
case("long", dict(SMALL, num_hidden_layers=2), recipe.tokens(1100, 57, 5), 8, 50)
perturbed(dict(SMALL, num_hidden_layers=2), recipe.tokens(12, 57, 3), {
    "vocab_size": [70], "num_hidden_layers": [1, 3], "head_size": [4, 24], "head_size_divisor": [4], "intermediate_size": [20, None],
    "layer_norm_epsilon": [0.01], "tie_word_embeddings": [True], "time_mix_extra_dim": [2], "time_decay_extra_dim": [3], "rescale_every": [0],
    "num_attention_heads": [4], "context_length": [64],
})
