"""hearth beside its peers at Stable Diffusion 1.5's sizes, on the same machine in the same run; prints the tables of docs/performance.md.

    python bench/compare.py [--hearth build/release/bin/hearth] [--onednn build/release/bin/hearth_onednn_ops]
                            [--threads N] [--repeats N] [--ops WORD] [--json]

PyTorch (with diffusers and transformers: tools/oracle-requirements.txt) runs in f32 and in bf16, with channels-last memory and its
fused attention, and takes turns with hearth, so that a drifting clock hits both. oneDNN runs the products of `hearth bench ops`; its
program is built where libdnnl-dev is found. What is not installed is skipped with a line that says so.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIGS = ROOT / "assets" / "configs" / "sd15"
PARTS = ["text", "unet_step", "vae_decode"]
TYPES = ["f32", "bf16"]


def skip(line):
    print(f"skipped: {line}", file=sys.stderr)


def run_json(command, **more):
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **more).stdout)


def config(component):
    values = json.loads((CONFIGS / component / "config.json").read_text())
    return {k: v for k, v in values.items() if not k.startswith("_")}


def median_seconds(f, repeats):
    f()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def torch_parts(dtype, threads, repeats):
    import torch
    from diffusers import AutoencoderKL, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    kind = {"f32": torch.float32, "bf16": torch.bfloat16}[dtype]
    last = dict(dtype=kind, memory_format=torch.channels_last)
    parts = {}
    with torch.inference_mode():
        text = CLIPTextModel(CLIPTextConfig(**config("text_encoder"))).eval().to(kind)
        ids = torch.randint(0, 49408, (2, 77))
        parts["text"] = median_seconds(lambda: text(ids), repeats)
        del text

        unet = UNet2DConditionModel.from_config(config("unet")).eval().to(**last)
        x = torch.randn(2, 4, 64, 64).to(**last)
        context = torch.randn(2, 77, 768).to(kind)
        parts["unet_step"] = median_seconds(lambda: unet(x, 500, context).sample, repeats)
        del unet

        vae = AutoencoderKL.from_config(config("vae")).eval().to(**last)
        z = torch.randn(1, 4, 64, 64).to(**last)
        parts["vae_decode"] = median_seconds(lambda: vae.decode(z).sample, repeats)
    return {"name": f"PyTorch {torch.__version__} {dtype}", "parts": parts}


# Each type's turn: hearth, PyTorch, hearth.
def compare_models(options):
    def hearth(dtype):
        held = {"f32": "f16", "bf16": "bf16"}[dtype]  # 16-bit weights in both: what people run
        return run_json([options.hearth, "bench", "--model", "sd15", "--json", "--precision", held,
                         "--threads", str(options.threads), "--repeats", str(options.repeats)])

    rows = []
    for dtype in TYPES:
        before = hearth(dtype)
        try:
            peer = torch_parts(dtype, options.threads, options.repeats)
        except ImportError as missing:
            skip(f"PyTorch ({missing})")
            return {"machine": before["machine"], "rows": []}
        after = hearth(dtype)
        for part in PARTS:
            ours = statistics.mean(run["parts"][part]["seconds"] for run in (before, after))
            rows.append({"part": part, "factors": dtype, "hearth": ours, "fraction": after["parts"][part]["fraction"],
                         "peer": peer["name"], "seconds": peer["parts"][part], "ratio": peer["parts"][part] / ours})
    return {"machine": after["machine"], "rows": rows}


def compare_ops(options):
    if not pathlib.Path(options.onednn).exists():
        skip(f"oneDNN ({options.onednn} is not built; it needs libdnnl-dev)")
        return []
    rows = []
    for dtype in TYPES:
        form = {"f32": ["--hold", "f16"], "bf16": ["--precision", "bf16"]}[dtype]
        ours = run_json([options.hearth, "bench", "ops", "--json", "--threads", str(options.threads), "--repeats", str(options.repeats),
                         *form, *(["--only", options.ops] if options.ops else [])])
        if ours["factors"] != dtype:
            skip(f"oneDNN in {dtype} (hearth multiplies {ours['factors']} here)")
            continue
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(ours, file)
            file.flush()
            peer = run_json([options.onednn, file.name, dtype, str(options.repeats)],
                            env={**os.environ, "OMP_NUM_THREADS": str(options.threads)})
        measured = {row["op"] for row in peer["ops"]}
        for work, seconds in peer["sums"].items():
            own = sum(op["seconds"] * op["calls"].get(work, 0) for op in ours["ops"] if op["op"] in measured)
            rows.append({"work": work, "factors": dtype, "hearth": own, "peer": f"oneDNN {peer['onednn']}", "seconds": seconds,
                         "ratio": seconds / own})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hearth", default=str(ROOT / "build" / "release" / "bin" / "hearth"))
    parser.add_argument("--onednn", default=str(ROOT / "build" / "release" / "bin" / "hearth_onednn_ops"))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--ops", default="", metavar="WORD", help="only operations with this in their name, and no whole models")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    models = {"rows": []} if options.ops else compare_models(options)
    ops = compare_ops(options)
    if options.json:
        print(json.dumps({"machine": models.get("machine"), "parts": models["rows"], "ops": ops}))
        return
    if models["rows"]:
        print("| part | factors | hearth, s | of the ceiling | peer | peer, s | hearth is faster by |\n|---|---|---:|---:|---|---:|---:|")
        for r in models["rows"]:
            print(f"| {r['part']} | {r['factors']} | {r['hearth']:.3f} | {r['fraction']:.2f} | {r['peer']} | {r['seconds']:.3f} "
                  f"| {r['ratio']:.2f} × |")
    if ops:
        print("\n| products of | factors | hearth, s | peer | peer, s | hearth is faster by |\n|---|---|---:|---|---:|---:|")
        for r in ops:
            print(f"| {r['work']} | {r['factors']} | {r['hearth']:.3f} | {r['peer']} | {r['seconds']:.3f} | {r['ratio']:.2f} × |")


if __name__ == "__main__":
    main()
