"""Makes corpus/*.safetensors and corpus.json: small files, sound and not, and what the reference reader (the `safetensors` package,
as torch sees its tensors) makes of each. They are the fuzzer's seeds too.

    python golden/make.py        (needs torch, safetensors)

Made with torch 2.15.0 and the safetensors version that corpus.json names.
"""
import json
import pathlib
import struct

import safetensors
import torch
from safetensors import safe_open
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
CORPUS = HERE / "corpus"


def raw(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else (header if isinstance(header, str) else json.dumps(header)).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def t(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def sound():
    """What the reference itself writes."""
    torch.manual_seed(0)
    x = torch.randn(3, 5)
    every = {name: (x * 10).to(kind) for name, kind in {
        "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64, "i8": torch.int8, "i16": torch.int16,
        "i32": torch.int32, "i64": torch.int64, "f8_e4m3": torch.float8_e4m3fn, "f8_e5m2": torch.float8_e5m2}.items()}
    every |= {"u8": (x.abs() * 10).to(torch.uint8), "bool": x > 0, "scalar": torch.tensor(2.5), "empty": torch.zeros(0, 4)}
    save_file(every, CORPUS / "every_type.safetensors", metadata={"format": "pt", "ünï": "cödé\n\"quoted\""})
    save_file({"b.weight": torch.arange(6.0).reshape(2, 3), "a.weight": torch.arange(4.0).half()}, CORPUS / "two.safetensors")
    save_file({}, CORPUS / "none.safetensors")


def cases():
    f = struct.pack("<6f", *range(6))
    yield "padded", raw(json.dumps({"a": t("F32", [6], 0, 24)}) + "     ", f)
    unaligned = json.dumps({"a": t("F32", [5], 3, 23), "b": t("U8", [3], 0, 3)})
    yield "unaligned", raw(unaligned + " " * (-len(unaligned) % 8), b"abc" + f[:20])
    yield "data_order_differs_from_name_order", raw({"a": t("F32", [2], 16, 24), "b": t("F32", [4], 0, 16)}, f)
    yield "zero_sized_between", raw({"a": t("F32", [4], 0, 16), "b": t("F32", [0, 3], 16, 16), "c": t("F32", [2], 16, 24)}, f)
    yield "scalar", raw({"a": t("F32", [], 0, 4)}, f[:4])
    yield "nine_axes", raw({"a": t("F32", [1] * 8 + [6], 0, 24)}, f)
    yield "no_tensors_no_data", raw({})
    yield "metadata_only", raw({"__metadata__": {"k": "v"}})

    yield "file_of_no_bytes", b""
    yield "file_of_seven_bytes", b"\x01" * 7
    yield "header_length_only", struct.pack("<Q", 0)
    yield "header_length_beyond_file", raw({"a": t("F32", [6], 0, 24)}, f, length=10_000)
    yield "header_length_beyond_limit", raw({"a": t("F32", [6], 0, 24)}, f, length=100_000_001)
    yield "header_length_negative", raw({"a": t("F32", [6], 0, 24)}, f, length=2**64 - 1)
    yield "header_is_text", raw("hello, world")
    yield "header_is_list", raw([1, 2])
    yield "header_begins_with_space", raw(" " + json.dumps({"a": t("F32", [6], 0, 24)}), f)
    yield "header_is_cut_off", raw(json.dumps({"a": t("F32", [6], 0, 24)})[:-5], f)
    yield "header_is_not_utf8", raw(b'{"a\xff": {"dtype": "F32", "shape": [6], "data_offsets": [0, 24]}}', f)
    yield "header_has_text_after_it", raw(json.dumps({"a": t("F32", [6], 0, 24)}) + "x", f)
    yield "data_cut_off", raw({"a": t("F32", [6], 0, 24)}, f[:20])
    yield "data_with_rest", raw({"a": t("F32", [5], 0, 20)}, f)
    yield "overlap", raw({"a": t("F32", [4], 0, 16), "b": t("F32", [3], 12, 24)}, f)
    yield "same_bytes_twice", raw({"a": t("F32", [6], 0, 24), "b": t("F32", [6], 0, 24)}, f)
    yield "hole", raw({"a": t("F32", [2], 0, 8), "b": t("F32", [2], 16, 24)}, f)
    yield "hole_at_start", raw({"a": t("F32", [4], 8, 24)}, f)
    yield "size_too_small", raw({"a": t("F32", [7], 0, 24)}, f)
    yield "size_too_large", raw({"a": t("F32", [5], 0, 24)}, f)
    yield "size_overflows", raw({"a": t("F32", [2**62, 4, 1], 0, 0)})
    yield "size_overflows_beside_zero", raw({"a": t("F32", [2**63, 2, 0], 0, 0)})
    yield "dimension_beyond_64_bits", raw('{"a": {"dtype": "F32", "shape": [18446744073709551616], "data_offsets": [0, 24]}}', f)
    yield "dimension_negative", raw({"a": t("F32", [-6], 0, 24)}, f)
    yield "dimension_is_fraction", raw({"a": t("F32", [6.0], 0, 24)}, f)
    yield "begin_after_end", raw({"a": t("F32", [6], 24, 0)}, f)
    yield "offsets_negative", raw({"a": t("F32", [6], -24, 0)}, f)
    yield "offsets_of_three", raw({"a": {"dtype": "F32", "shape": [6], "data_offsets": [0, 24, 24]}}, f)
    yield "offsets_missing", raw({"a": {"dtype": "F32", "shape": [6]}}, f)
    yield "shape_is_number", raw({"a": {"dtype": "F32", "shape": 6, "data_offsets": [0, 24]}}, f)
    yield "shape_is_nested", raw({"a": {"dtype": "F32", "shape": [[6]], "data_offsets": [0, 24]}}, f)
    yield "tensor_is_number", raw({"a": 1}, f)
    yield "tensor_is_null", raw({"a": None}, f)
    yield "metadata_is_text", raw({"__metadata__": "x"})
    yield "metadata_is_nested", raw({"__metadata__": {"a": {"b": "c"}}})
    yield "metadata_holds_number", raw({"__metadata__": {"a": 1}})
    yield "dtype_unknown", raw({"a": t("F32", [2], 0, 8), "b": t("X7", [4], 8, 24)}, f)
    yield "name_twice", raw('{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}', f[:8])
    yield "field_twice", raw('{"a": {"dtype": "F32", "dtype": "F16", "shape": [2], "data_offsets": [0, 4]}}', f[:4])
    yield "field_unknown", raw('{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], "scale": 2}}', f[:8])


def verdict(path):
    try:
        with safe_open(path, "pt") as file:
            return {"tensors": {name: [str(x.dtype).removeprefix("torch."), list(x.shape), x.double().flatten().tolist()]
                                for name in sorted(file.keys()) for x in [file.get_tensor(name)]},
                    "metadata": file.metadata() or {}}
    except Exception as error:  # every refusal of the reference is one of several unrelated classes
        return {"refused": str(error).splitlines()[0][:100]}


def main():
    CORPUS.mkdir(exist_ok=True)
    for old in CORPUS.iterdir():
        old.unlink()
    sound()
    for name, content in cases():
        (CORPUS / f"{name}.safetensors").write_bytes(content)
    verdicts = {path.name: verdict(path) for path in sorted(CORPUS.iterdir())}
    text = json.dumps({"made_with": {"safetensors": safetensors.__version__, "torch": torch.__version__.split("+")[0]}, "files": verdicts}, indent=0)
    (HERE / "corpus.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
