"""Goldens of GGUF files that hearth writes: what the reference reader (Python package gguf) and diffusers make of them.

    OMP_NUM_THREADS=1 python make_formats.py HEARTH

HEARTH is the built command. Needs gguf, diffusers 0.39.0 and what make_flux.py needs (see tools/oracle-requirements.txt). It writes, beside
itself,

    formats.json          per type: the SHA-256 of the file that `hearth quantize` writes from the network below, and the relative L2 error of
                          its tensors as gguf dequantizes them, against the values before; the types that gguf reads
    formats.safetensors   the final latents of flux_dev, whose transformer (and T5 encoder) gguf dequantized and diffusers ran

The network has the tensors of one double and one single block of FLUX.1 of width 256 under Black Forest Labs' names, and the values of
their names (tools/name_weights.py). A test writes the same file, compares its hash, and runs it.
"""
import hashlib
import inspect
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import gguf
import make_flux as flux
import numpy as np
import torch
from diffusers.loaders import single_file_utils
from gguf import GGUFReader
from safetensors.torch import save_file

HERE, name_weights = flux.HERE, flux.name_weights
WIDTH = 256
TYPES = ["f32", "f16", "bf16", "q8_0", "q6_k", "q5_k", "q5_k_m", "q4_k", "q4_k_m", "q3_k", "q3_k_m", "q2_k", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl",
         "iq4_xs", "mxfp4"]


def network():
    """Name → shape."""
    D, head = WIDTH, 64
    shapes = {"img_in.weight": [D, 64], "txt_in.weight": [D, 96], "final_layer.linear.weight": [64, D], "final_layer.adaLN_modulation.1.weight": [2 * D, D]}
    for name, rows in (("time_in", 256), ("guidance_in", 256), ("vector_in", 48)):
        shapes |= {f"{name}.in_layer.weight": [D, rows], f"{name}.out_layer.weight": [D, D]}
    for stream in ("img", "txt"):
        block = f"double_blocks.0.{stream}_"
        shapes |= {block + "mod.lin.weight": [6 * D, D], block + "attn.qkv.weight": [3 * D, D], block + "attn.proj.weight": [D, D],
                   block + "mlp.0.weight": [4 * D, D], block + "mlp.2.weight": [D, 4 * D]}
        shapes |= {block + f"attn.norm.{which}_norm.scale": [head] for which in ("query", "key")}
    shapes |= {"single_blocks.0.linear1.weight": [7 * D, D], "single_blocks.0.linear2.weight": [D, 5 * D], "single_blocks.0.modulation.lin.weight": [3 * D, D]}
    shapes |= {f"single_blocks.0.norm.{which}_norm.scale": [head] for which in ("query", "key")}
    biases = {name.removesuffix("weight") + "bias": shape[:1] for name, shape in shapes.items() if name.endswith("weight")}
    return shapes | biases


def quantize(hearth, model, out, *arguments):
    subprocess.run([hearth, "quantize", "-m", model, "-o", out, *arguments], check=True, stdout=subprocess.DEVNULL)
    return GGUFReader(out)


def values(tensor):
    """As in torch: gguf's shapes are reversed."""
    x = gguf.dequantize(tensor.data, tensor.tensor_type)
    return torch.from_numpy(np.array(x, dtype=np.float32)).reshape([int(n) for n in reversed(tensor.shape)])


def text(reader, key):
    field = reader.get_field(key)
    return bytes(field.parts[field.data[0]]).decode()


def readable(hearth, folder):
    shapes = network()
    given = {name: torch.from_numpy(name_weights.tensor(name, shape)) for name, shape in shapes.items()}
    save_file(given, folder / "network.safetensors")
    found = {}
    for name in TYPES:
        out = folder / f"{name}.gguf"
        reader = quantize(hearth, folder / "network.safetensors", out, "--type", name)
        assert text(reader, "general.architecture") == "flux"
        assert {t.name for t in reader.tensors} == set(shapes)
        errors, types = {}, {}
        for t in reader.tensors:
            x, kind = values(t), t.tensor_type.name.lower()
            assert list(x.shape) == shapes[t.name], t.name
            error = float((x - given[t.name]).norm() / given[t.name].norm())
            errors[kind] = max(error, errors.get(kind, 0.0))
            types[kind] = types.get(kind, 0) + 1
        found[name] = dict(sha256=hashlib.sha256(out.read_bytes()).hexdigest(), types=types, errors={k: float(f"{e:.2e}") for k, e in errors.items()})
        print(name, types, found[name]["errors"], flush=True)
    return found


def to_diffusers(reader, width):
    """diffusers' own converter, whose width is written into it."""
    source = inspect.getsource(single_file_utils.convert_flux_transformer_checkpoint_to_diffusers)
    assert "inner_dim = 3072" in source
    scope = dict(vars(single_file_utils))
    exec(source.replace("inner_dim = 3072", f"inner_dim = {width}"), scope)
    return scope["convert_flux_transformer_checkpoint_to_diffusers"]({t.name: values(t) for t in reader.tensors})


T5 = {"enc.output_norm": "encoder.final_layer_norm", "token_embd": "shared", "attn_norm": "layer.0.layer_norm", "ffn_norm": "layer.1.layer_norm",
      "attn_rel_b": "layer.0.SelfAttention.relative_attention_bias", "ffn_gate": "layer.1.DenseReluDense.wi_0", "ffn_up": "layer.1.DenseReluDense.wi_1",
      "ffn_down": "layer.1.DenseReluDense.wo"} | {f"attn_{x}": f"layer.0.SelfAttention.{x}" for x in "qkvo"}


def t5_name(name):
    stem = name.removesuffix(".weight")
    if stem.startswith("enc.blk."):
        _, _, block, rest = stem.split(".", 3)
        return f"encoder.block.{block}.{T5[rest]}.weight"
    return T5[stem] + ".weight"


@torch.no_grad()
def drawn(hearth, folder):
    case, latents = flux.CASES["default"], {}
    width = flux.CHECKPOINTS["flux_dev"]["transformer"]["attention_head_dim"] * flux.CHECKPOINTS["flux_dev"]["transformer"]["num_attention_heads"]
    opened = flux.opened
    for name, arguments in {"q8_0": [], "q4_0": [], "mxfp4": ["--rule", "*_mlp.*=q5_1"]}.items():
        states = to_diffusers(quantize(hearth, HERE / "flux_dev", folder / "flux.gguf", "--type", name, *arguments), width)

        def with_states(case, dtype):
            pipe, embeds = opened(case, torch.float32)
            pipe.transformer.load_state_dict(states)
            pipe.transformer.to(dtype)
            return pipe, embeds

        flux.opened = with_states
        latents[name] = flux.draw(case, torch.float32)
    t5 = quantize(hearth, HERE / "flux_dev", folder / "t5.gguf", "--type", "q8_0", "--component", "text_encoder_2")
    assert text(t5, "general.architecture") == "t5encoder"

    def with_t5(case, dtype):
        pipe, _ = opened(case, torch.float32)
        state = {t5_name(t.name): values(t) for t in t5.tensors}
        missing, unexpected = pipe.text_encoder_2.load_state_dict(state, strict=False)
        assert not unexpected and set(missing) <= {"encoder.embed_tokens.weight"}, (missing, unexpected)
        return pipe, flux.embeddings(pipe, case, dtype)

    flux.opened = with_t5
    latents["t5_q8_0"] = flux.draw(case, torch.float32)
    flux.opened = opened
    plain = flux.draw(case, torch.float32)
    for name, x in latents.items():
        print(f"{name}: distance from the unquantized latents {float((x - plain).norm() / plain.norm()):.1e}")
    return {name: x.contiguous() for name, x in latents.items()}


def main():
    hearth = Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory() as folder:
        files, latents = readable(hearth, Path(folder)), drawn(hearth, Path(folder))
    versions = dict(gguf="0.19", diffusers=flux.diffusers.__version__, torch=torch.__version__)
    (HERE / "formats.json").write_text(json.dumps(dict(versions=versions, network=network(), files=files), indent=1) + "\n")
    save_file(latents, HERE / "formats.safetensors", metadata={"made by": "tests/e2e/golden/make_formats.py", **versions})


if __name__ == "__main__":
    main()
