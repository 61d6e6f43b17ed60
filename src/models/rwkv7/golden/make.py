"""Goldens of RWKV-7 from the authors' package rwkv (RWKV_x070), without compiled kernels.
python src/models/rwkv7/golden/make.py

Weights are named as in flash-linear-attention and handed to the package under the authors' names. The package's eps of norms, 1e-5 and 64e-5, are
norm_eps and head_dim · norm_eps here. Networks run in float64, but the package keeps the state and the decay in float32.
Made with torch 2.15.0, rwkv 0.8.32.
"""
import os
import sys
import tempfile
from pathlib import Path

os.environ.update(PYTORCH_JIT="0", RWKV_V7_ON="1", RWKV_JIT_ON="0", RWKV_CUDA_ON="0")
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

SMALL = dict(model_type="rwkv7", vocab_size=57, hidden_size=24, num_hidden_layers=3, head_dim=6, intermediate_size=40, decay_low_rank_dim=5,
             a_low_rank_dim=7, v_low_rank_dim=3, gate_low_rank_dim=9, norm_eps=1e-5, hidden_act="sqrelu", norm_first=True, norm_bias=True,
             hidden_ratio=4.0, max_position_embeddings=512, tie_word_embeddings=False, attn=None, fuse_norm=False, value_dim=None)


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


def authors_tensors(c):
    z = {}
    for name, shape in shapes(c).items():
        x = torch.from_numpy(recipe.name_weights.tensor(name, tuple(shape)))
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


def network(c):
    eps.update(layer=c["norm_eps"], group=c["head_dim"] * c["norm_eps"])
    z = authors_tensors(c)
    with tempfile.TemporaryDirectory() as folder:
        torch.save(z, f"{folder}/model.pth")
        net = rwkv.model.RWKV_x070(f"{folder}/model", "cpu fp32")
    rwkv.model.DTYPE = torch.float64
    net.z = {name: x.double() for name, x in net.z.items()}
    emb = z["emb.weight"].double()
    if c["norm_first"]:
        emb = layer_norm(emb, (c["hidden_size"],), z["blocks.0.ln0.weight"].double(), z["blocks.0.ln0.bias"].double(), c["norm_eps"])
    net.z["emb.weight"] = emb
    return net


def logits(net, ids):
    return net.forward(ids, None, full_output=True)[0].float().numpy()


def greedy(net, ids, count):
    y, state = net.forward(ids, None)
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
case("heads_of_64", dict(SMALL, hidden_size=128, head_dim=64, num_hidden_layers=2, intermediate_size=None), recipe.tokens(19, 57, 7), 64)
case("long", dict(SMALL, num_hidden_layers=2, max_position_embeddings=2048), recipe.tokens(1100, 57, 5), 8, 50)
perturbed(dict(SMALL, num_hidden_layers=2), recipe.tokens(12, 57, 3), {
    "vocab_size": [70], "hidden_size": [30], "num_hidden_layers": [1, 3], "head_dim": [4, 24], "intermediate_size": [20, None], "decay_low_rank_dim": [2],
    "a_low_rank_dim": [4], "v_low_rank_dim": [6], "gate_low_rank_dim": [3], "norm_eps": [0.01], "norm_first": [False], "norm_bias": [False], "tie_word_embeddings": [True],
    "max_position_embeddings": [64], "fuse_norm": [True],
})
