"""Goldens of the T5 encoder from transformers' T5EncoderModel, MT5EncoderModel and UMT5EncoderModel.
python src/parts/t5/golden/make.py

Made with torch 2.15.0, transformers 4.57.1, gguf 0.19.0. The reference casts scores and the norm's squares to f32; here both stay in float64.
perturbed.safetensors holds one base configuration with one key changed at a time.
"""
import importlib.metadata
import json
import sys
from pathlib import Path

import torch
import transformers
from transformers import MT5Config, MT5EncoderModel, T5Config, T5EncoderModel, UMT5Config, UMT5EncoderModel
from transformers.models.t5.modeling_t5 import T5Attention

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import golden  # noqa: E402

VERSIONS = f"transformers {transformers.__version__}, torch {torch.__version__}"
CONFIGS = {T5EncoderModel: T5Config, MT5EncoderModel: MT5Config, UMT5EncoderModel: UMT5Config}
SMALL = dict(vocab_size=50, relative_attention_num_buckets=8, relative_attention_max_distance=12)


def sentence(seed, length):
    return [(seed + 7 * i * i) % 48 + 2 for i in range(length - 1)] + [1]


def padded(ids, length):
    return ids + [0] * (length - len(ids))


# name: (class, config, token ids, valid lengths or None, weight factor, {tensor: factor})
WO = "encoder.block.1.layer.1.DenseReluDense.wo.weight"
CASES = {
    # version 1.1, heads · d_kv other than the width; padding tokens are attended to, as in Stable Diffusion 3 and FLUX.1
    "v1_1": (T5EncoderModel, dict(SMALL, d_model=24, d_kv=6, num_heads=3, d_ff=40, num_layers=3, feed_forward_proj="gated-gelu"),
             [padded(sentence(3, 17), 23), padded(sentence(11, 5), 23)], None, 1.0, {}),
    # version 1.0: one matrix and ReLU; only the valid tokens are attended to
    "v1_0": (T5EncoderModel, dict(SMALL, d_model=14, d_kv=5, num_heads=3, d_ff=22, num_layers=2),
             [padded(sentence(5, 9), 9), padded(sentence(6, 4), 9), padded([1], 9)], [9, 4, 1], 1.0, {}),
    # a bias in every layer, more channels in the heads than in the stream
    "umt5": (UMT5EncoderModel, dict(SMALL, d_model=18, d_kv=12, num_heads=2, d_ff=30, num_layers=3),
             [padded(sentence(2, 11), 15), padded(sentence(9, 15), 15)], [11, 15], 1.0, {}),
    # distances beyond every bucket
    "far": (MT5EncoderModel, dict(vocab_size=50, d_model=8, d_kv=4, num_heads=3, d_ff=12, num_layers=2, feed_forward_proj="gated-silu"),
            [sentence(4, 150)], None, 1.0, {}),
    # weights × 0.03: every norm sees a small mean square, so that a wrong eps shows
    "faint": (T5EncoderModel, dict(SMALL, d_model=16, d_kv=4, num_heads=4, d_ff=20, num_layers=2, feed_forward_proj="gelu"),
              [sentence(8, 6)], None, 0.03, {}),
    # the residual stream leaves the range of f16, as in published checkpoints
    "large": (T5EncoderModel, dict(SMALL, d_model=24, d_kv=8, num_heads=3, d_ff=40, num_layers=3, feed_forward_proj="gated-gelu"),
              [padded(sentence(3, 9), 12)], None, 1.0, {WO: 2.0**20}),
}


def tapped(name):
    return name == "encoder.final_layer_norm" or name.startswith("encoder.block.") and name.split(".")[-2] == "block"


def widened(norm):
    return lambda x: norm.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + norm.variance_epsilon))


def build(cls, config, factor, factors):
    net = cls(CONFIGS[cls](**config))
    own = type(net).state_dict
    net.state_dict = lambda *args, **kwargs: {key: value for key, value in own(net).items() if key != "encoder.embed_tokens.weight"}
    golden.prepare(net, factor)
    with torch.no_grad():
        for key, value in factors.items():
            net.state_dict()[key].mul_(value)
    for module in net.modules():
        if type(module).__name__.endswith("LayerNorm"):
            module.forward = widened(module)
    return net


def run(cls, config, ids, lengths, factor, factors, taps):
    net = build(cls, config, factor, factors)
    tap = golden.Taps(net, tapped) if taps else None
    mask = None if lengths is None else torch.tensor([[int(t < n) for t in range(len(ids[0]))] for n in lengths])
    with torch.no_grad():
        y = net(torch.tensor(ids), attention_mask=mask).last_hidden_state
    return net, y.numpy(), tap.arrays if tap else {}


def config_json(net):
    """The complete config.json, as old releases wrote it."""
    net.config.architectures = [type(net).__name__]
    return json.loads(net.config.to_json_string(use_diff=False))


def cases():
    for name, (cls, config, ids, lengths, factor, factors) in CASES.items():
        net, y, taps = run(cls, config, ids, lengths, factor, factors, True)
        golden.save(HERE, name, {"y": y, **taps}, config_json(net), VERSIONS, ids=ids, lengths=lengths or [], factor=factor, factors=factors)


BASE = (T5EncoderModel, dict(SMALL, d_model=12, d_kv=4, num_heads=2, d_ff=20, num_layers=2, feed_forward_proj="gated-gelu"),
        [sentence(3, 14)], None, 1.0, {})
CHANGES = {
    "vocab_size": [55],
    "d_model": [16],
    "hidden_size": [16],
    "d_kv": [5],
    "head_dim": [5],
    "d_ff": [24],
    "num_layers": [1, 3],
    "num_hidden_layers": [1],
    "num_heads": [1, 3],
    "num_attention_heads": [3],
    "relative_attention_num_buckets": [4, 9, 32],
    "relative_attention_max_distance": [5, 128],
    "feed_forward_proj": ["relu", "gelu", "silu", "gelu_new", "gated-relu", "gated-silu", "gated-gelu_new", "gated-quick_gelu"],
    "dense_act_fn": ["relu", "gelu", "silu"],
    "is_gated_act": [False],
    "layer_norm_epsilon": [0.1],
    "num_decoder_layers": [7],
    "dropout_rate": [0.5],
    "classifier_dropout": [0.5],
    "initializer_factor": [2.0],
    "tie_word_embeddings": [False],
    "is_encoder_decoder": [False],
    "use_cache": [False],
    "pad_token_id": [3],
    "eos_token_id": [3],
    "decoder_start_token_id": [3],
}


def perturbed():
    cls, config, ids, lengths, factor, factors = BASE
    net, base, _ = run(*BASE, False)
    arrays, changes = {"base": base}, []
    for key, alternatives in CHANGES.items():
        for value in alternatives:
            _, y, _ = run(cls, {**config, key: value}, ids, lengths, factor, factors, False)
            arrays[str(len(changes))] = y
            changes.append({"key": key, "value": value, "same": golden.same(y, base)})
            print("  same" if changes[-1]["same"] else "  other", key, value)
    written = config_json(net)
    for key in ("dense_act_fn", "is_gated_act"):  # they win over feed_forward_proj
        del written[key]
    golden.save(HERE, "perturbed", arrays, written, VERSIONS, changes=changes, ids=ids, lengths=[], factor=factor, factors={})


def buckets():
    """The bucket of every distance up to 700, for several tables."""
    distances = torch.arange(-700, 701)
    tables = {f"{n} {far}": T5Attention._relative_position_bucket(distances, True, n, far).tolist()
              for n, far in ((32, 128), (8, 12), (9, 20), (4, 2), (64, 256), (32, 100), (16, 1000))}
    (HERE / "buckets.json").write_text(json.dumps({"reference": VERSIONS, "tables": tables}, sort_keys=True).replace("], ", "],\n") + "\n")


# The published text_encoder_2/config.json of FLUX.1.
XXL = dict(_name_or_path="google/t5-v1_1-xxl", architectures=["T5EncoderModel"], classifier_dropout=0.0, d_ff=10240, d_kv=64, d_model=4096,
           decoder_start_token_id=0, dense_act_fn="gelu_new", dropout_rate=0.1, eos_token_id=1, feed_forward_proj="gated-gelu",
           initializer_factor=1.0, is_encoder_decoder=True, is_gated_act=True, layer_norm_epsilon=1e-06, model_type="t5", num_decoder_layers=24,
           num_heads=64, num_layers=24, output_past=True, pad_token_id=0, relative_attention_max_distance=128,
           relative_attention_num_buckets=32, tie_word_embeddings=False, torch_dtype="bfloat16", transformers_version="4.43.3", use_cache=True,
           vocab_size=32128)
# That of Wan 2.1.
UMT5_XXL = dict(XXL, _name_or_path="google/umt5-xxl", architectures=["UMT5EncoderModel"], model_type="umt5", scalable_attention=True,
                tie_word_embeddings=True, tokenizer_class="T5Tokenizer", transformers_version="4.48.0.dev0", vocab_size=256384)


def structures():
    for name, cls, config in (("xxl", T5EncoderModel, XXL), ("umt5_xxl", UMT5EncoderModel, UMT5_XXL)):
        with torch.device("meta"):
            net = cls(CONFIGS[cls](**{key: value for key, value in config.items() if key not in ("torch_dtype", "architectures", "model_type")}))
            net.state_dict = lambda: {key: value for key, value in cls.state_dict(net).items() if key != "encoder.embed_tokens.weight"}
            golden.save_structure(HERE, name, net, VERSIONS, torch.zeros(1, 512, dtype=torch.int64), **config)


def gguf_names():
    """Every tensor of T5 v1.1 XXL and of a T5 1.0 under the name that llama.cpp's converter gives it."""
    import gguf

    names = {}
    plain = T5EncoderModel(T5Config(vocab_size=10, d_model=8, d_kv=4, d_ff=8, num_layers=2, num_heads=2)).state_dict()
    for model, tensors in (("xxl", json.loads((HERE / "xxl.json").read_text())["tensors"]), ("v1_0", plain)):
        table = gguf.get_tensor_name_map(gguf.MODEL_ARCH.T5ENCODER, 24)
        names[model] = {name: table.get_name(name, try_suffixes=(".weight",)) for name in tensors if name != "encoder.embed_tokens.weight"}
    facts = {"reference": f"gguf {importlib.metadata.version('gguf')}", "names": names}
    (HERE / "gguf_names.json").write_text(json.dumps(facts, indent=0, sort_keys=True) + "\n")


structures()
gguf_names()
for cls, name in ((T5Config, "defaults_t5"), (UMT5Config, "defaults_umt5"), (MT5Config, "defaults_mt5")):
    (HERE / f"{name}.json").write_text(json.dumps(json.loads(cls().to_json_string(use_diff=False)), indent=0, sort_keys=True) + "\n")
buckets()
to_float = torch.Tensor.float
torch.Tensor.float = lambda x: x if x.dtype == torch.float64 else to_float(x)
torch.set_default_dtype(torch.float64)  # the mask takes its type from here
cases()
perturbed()
