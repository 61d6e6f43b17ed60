"""Makes the PyTorch checkpoints of this folder and contents.json: what torch itself reads from each.

    python golden/make.py        (needs torch, numpy; the versions are in contents.json)
"""
import io
import json
import pathlib
import pickle
import sys
import types
import warnings
import zipfile
from collections import OrderedDict

import numpy
import torch

HERE = pathlib.Path(__file__).parent
warnings.simplefilter("ignore")

KINDS = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64, "i8": torch.int8, "u8": torch.uint8,
         "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "bool": torch.bool, "f8_e4m3": torch.float8_e4m3fn,
         "f8_e5m2": torch.float8_e5m2, "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64}
NAMES = {kind: name for name, kind in KINDS.items()}


def every_kind():
    """Every type, and every way in which a tensor may lie in its storage."""
    torch.manual_seed(0)
    x = torch.randn(3, 5)
    tensors = {f"type.{name}": (x * 10).to(kind) for name, kind in KINDS.items() if name not in ("u8", "bool", "u16", "u32", "u64")}
    tensors |= {f"type.{name}": (x.abs() * 10).int().to(KINDS[name]) for name in ("u8", "u16", "u32", "u64")}
    tensors["type.bool"] = x > 0
    base = torch.arange(24.0)
    cube = base.reshape(2, 3, 4)
    tensors |= {"whole": base, "cube": cube, "part": base[5:11], "transposed": cube.transpose(0, 2), "rows": cube[:, 1], "columns": cube[..., 1::2],
                "expanded": base[3:5].reshape(2, 1).expand(2, 3), "one": cube[1:2, 2:3, :], "last": base[23], "windows": base.unfold(0, 4, 7)}
    tensors["halves"] = base.half()[3:9].reshape(2, 3).T
    tensors |= {"scalar": torch.tensor(2.5), "empty": torch.zeros(0, 4), "empty_part": base[24:], "deep": torch.arange(8.0).reshape(1, 2, 1, 2, 1, 2, 1, 1)}
    tensors["parameter"] = torch.nn.Parameter(torch.tensor([1.5, -2.0]))
    tensors["marked"] = torch.tensor([7.0, 8.0])
    tensors["marked"].note = "an attribute"
    marked = torch.nn.Parameter(torch.tensor([9.0]))
    marked.note = ["another"]
    tensors["marked_parameter"] = marked
    return tensors


def state_dict():
    model = torch.nn.Sequential(OrderedDict(norm=torch.nn.BatchNorm1d(3), tied=torch.nn.Linear(3, 3, bias=False)))
    torch.manual_seed(1)
    model.tied.weight.data.normal_()
    model.head = torch.nn.Linear(3, 3, bias=False)
    model.head.weight = model.tied.weight
    return model.state_dict()


def unknown_class(module, name):
    """A class that a reader of the file does not have."""
    for part in [module[:i] for i, c in enumerate(module + ".") if c == "."]:
        sys.modules.setdefault(part, types.ModuleType(part))
    made = type(name, (), {"__module__": module})
    setattr(sys.modules[module], name, made)
    return made


class Subclass(torch.Tensor):
    pass


Subclass.__module__, sys.modules["a_library"] = "a_library", types.ModuleType("a_library")
sys.modules["a_library"].Subclass = Subclass


class Wants:
    """An object whose pickle has `function` called."""

    def __init__(self, function, *arguments):
        self.what = (function, arguments)

    def __reduce__(self):
        return self.what


def lightning():
    callback = unknown_class("a_trainer.callbacks", "Checkpoint")()
    callback.best, callback.monitor = 0.25, "loss"
    settings = unknown_class("a_config", "Settings")()
    settings.rate, settings.layers = 1e-4, [1, 2, 3]
    return {"epoch": 3, "global_step": 12345678901, "version": "1.9.0", "state_dict": state_dict(), "callbacks": {callback: callback},
            "optimizer_states": [{"state": {0: {"step": torch.tensor(3.0), "exp_avg": torch.ones(3)}}, "param_groups": [{"lr": 1e-4, "params": [0]}]}],
            "hyper_parameters": settings, "score": numpy.float64(0.5), "place": pathlib.PurePosixPath("a/b"), "nothing": None, "large": 2**70}


def rezipped(source, compression=zipfile.ZIP_STORED, change=None):
    """The same archive as another program would write it."""
    out = io.BytesIO()
    with zipfile.ZipFile(HERE / source) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, change(name, content) if change else content, compression)
    return out.getvalue()


def make_files():
    """name → what it is expected to be: a dict of tensors, or None for a file that is refused."""
    files = {}

    def save(name, value, expected="same", **options):
        torch.save(value, HERE / name, **options)
        files[name] = value if expected == "same" else expected

    every = every_kind()
    for protocol in (2, 3, 4, 5):
        save(f"zip_{protocol}.pt", every, pickle_protocol=protocol)
    untyped = ("f8_e4m3", "f8_e5m2", "u16", "u32", "u64")  # torch writes these types to legacy files, and cannot read them again
    for protocol in (1, 2, 4):
        save(f"legacy_{protocol}.pt", {name: x for name, x in every.items() if NAMES[x.dtype] not in untyped}, pickle_protocol=protocol,
             _use_new_zipfile_serialization=False)
    plain = {"a": torch.arange(6.0).reshape(2, 3).T, "b": torch.tensor([1, -2], dtype=torch.int64)}
    plain["c"] = plain["a"].T[1]
    for protocol in (3, 4, 5):
        (HERE / f"raw_{protocol}.pt").write_bytes(pickle.dumps(plain, protocol=protocol))
        files[f"raw_{protocol}.pt"] = plain
    save("state_dict.bin", state_dict())
    save("lightning.ckpt", lightning(), state_dict())
    save("nested.pt", {"step": 7, "net": {"a": torch.ones(2), "inner": OrderedDict(b=torch.zeros(1, 2))}, "list": [torch.full((2,), 3.0), 5], "words": ["x", "y"], 4: torch.tensor(4.0)},
         {"net.a": torch.ones(2), "net.inner.b": torch.zeros(1, 2), "list.0": torch.full((2,), 3.0), "4": torch.tensor(4.0)})
    save("ema.pth", {"params": {"x": torch.zeros(2)}, "params_ema": {"x": torch.ones(2)}}, {"x": torch.ones(2)})
    save("empty_state_dict.pt", {"state_dict": {}, "model": {"deep": {"x": torch.ones(1)}}}, {"deep.x": torch.ones(1)})
    shared = torch.arange(300.0)
    save("many.pt", {f"layer.{i}": shared[i:i + 1] for i in range(300)})
    save("none.pt", {})
    torch.serialization.set_crc32_options(False)
    save("without_sums.pt", plain)
    torch.serialization.set_crc32_options(True)

    good = plain["b"]
    odd = {"good": good, "quantised": torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8), "subclass": torch.ones(2).as_subclass(Subclass),
           "complex": torch.ones(2, dtype=torch.complex64), "sparse": torch.eye(2).to_sparse(), "meta": torch.ones(2, device="meta"),
           "negated": torch._neg_view(torch.ones(2)), "axes": torch.ones([1] * 9), "stretched": torch.ones(1).expand(1_000_000, 1_000)}
    save("unreadable.pt", odd, {"good": good})

    (HERE / "rezipped.pt").write_bytes(rezipped("state_dict.bin"))
    files["rezipped.pt"] = state_dict()
    (HERE / "deflated.pt").write_bytes(rezipped("state_dict.bin", zipfile.ZIP_DEFLATED))
    (HERE / "big_endian.pt").write_bytes(rezipped("state_dict.bin", change=lambda name, content: b"big" if name.endswith("byteorder") else content))
    save("one_tensor.pt", torch.ones(3), None)
    save("list.pt", [torch.ones(3)], None)
    save("module.pt", Wants(unknown_class("a_library.net", "Net")), None)
    import os
    save("hostile.pt", {"weight": torch.ones(2), "x": Wants(os.system, "echo harm")}, None)
    save("hostile_beside.ckpt", {"state_dict": {"weight": torch.ones(2)}, "x": [Wants(eval, "1")]}, None)
    save("hostile_legacy.bin", Wants(os.system, "echo harm"), None, _use_new_zipfile_serialization=False)
    for protocol in range(6):
        (HERE / f"hostile_{protocol}.bin").write_bytes(pickle.dumps(Wants(os.system, "echo harm"), protocol=protocol))
    torch.jit.script(torch.nn.ReLU()).save(HERE / "script.pt")
    for name in ("deflated.pt", "big_endian.pt", "script.pt", *(f"hostile_{i}.bin" for i in range(6))):
        files[name] = None
    return files


def described(x):
    values = x.detach().to(torch.float64).reshape(-1).tolist() if x.dtype not in (torch.int64, torch.uint64) else x.reshape(-1).tolist()
    return {"type": NAMES[x.dtype], "shape": list(x.shape), "values": values}


def read_by_torch(name):
    """The file's tensors by their dotted names, as torch (or, for a raw pickle, pickle) loads them."""
    def walk(value, path):
        if isinstance(value, torch.Tensor):
            yield ".".join(path), value
        for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ():
            yield from walk(item, [*path, str(key)])

    loaded = pickle.loads((HERE / name).read_bytes()) if name.startswith("raw") else torch.load(HERE / name, weights_only=False)
    for part in ("state_dict", "params_ema"):
        loaded = loaded.get(part) or loaded
    return dict(walk(loaded.get("model", loaded), []))


if __name__ == "__main__":
    contents = {}
    for name, expected in make_files().items():
        if expected is not None:
            loaded = read_by_torch(name)
            assert name == "unreadable.pt" or loaded.keys() == expected.keys(), (name, loaded.keys())
            for key, x in expected.items():
                assert loaded[key].dtype == x.dtype and loaded[key].shape == x.shape and loaded[key].tolist() == x.tolist(), (name, key)
        contents[name] = None if expected is None else {key: described(x) for key, x in expected.items()}
    versions = {"torch": torch.__version__.split("+")[0], "numpy": numpy.__version__, "python": sys.version.split()[0]}
    files = ",\n".join(f"{json.dumps(name)}: {json.dumps(tensors)}" for name, tensors in contents.items())
    (HERE / "contents.json").write_text(f'{{"made_with": {json.dumps(versions)}, "files": {{\n{files}}}}}\n')
