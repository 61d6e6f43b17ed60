"""Compares hearth with PyTorch, oneDNN and llama.cpp, on one machine in one run; prints the tables of docs/performance.md.

    python bench/compare.py [--hearth build/release/bin/hearth] [--onednn build/release/bin/hearth_onednn_ops]
                            [--llama-bench llama.cpp/build/bin/llama-bench] [--only images|ops|language] [--path avx2]
                            [--threads N] [--repeats N] [--ops WORD] [--weights f16,q8_0,…] [--language-models llama-1b,…] [--json]

Images: the sizes of Stable Diffusion 1.5.
PyTorch (with diffusers and transformers: tools/oracle-requirements.txt) runs in f32 and in bf16, with channels-last memory and its
fused attention, alternating with hearth, so that a drifting clock rate affects both. oneDNN runs the products of `hearth bench ops`; its
program is built if libdnnl-dev is installed. `--path avx2` limits hearth, PyTorch and oneDNN to 256-bit registers.

Language models: llama.cpp's llama-bench (build it with GGML_NATIVE=ON) reads the same GGUF files of generated weights as
`hearth bench`, between two runs of hearth: prefill of a prompt of 512 tokens, and decode of 64 tokens.

Programs that are not installed are skipped with a message.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIGS = ROOT / "assets" / "configs" / "sd15"
PARTS = ["text", "unet_step", "vae_decode"]
TYPES = ["f32", "bf16"]
WEIGHTS = ["f16", "bf16", "q8_0", "q4_0", "q4_k"]


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


# Order for each dtype: hearth, PyTorch, hearth.
def compare_models(options):
    def hearth(dtype):
        held = {"f32": "f16", "bf16": "bf16"}[dtype]  # 16-bit weights in both, the common case
        return run_json([options.hearth, "bench", "--model", "sd15", "--json", "--precision", held,
                         "--threads", str(options.threads), "--repetitions", str(options.repeats)])

    rows = []
    for dtype in options.types:
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
        skip(f"oneDNN ({options.onednn} is not built, expected libdnnl-dev at configuration)")
        return []
    rows = []
    for dtype in options.types:
        form = {"f32": ["--ops-weight-type", "f16"], "bf16": ["--precision", "bf16"]}[dtype]
        bench = [options.hearth, "bench", "ops", "--json", "--threads", str(options.threads), "--repetitions", str(options.repeats), *form]
        factors = run_json([*bench, "--filter", "linear 2x320->1280"])["factors"]
        if factors != dtype:
            skip(f"oneDNN in {dtype} (hearth multiplies {factors} here)")
            continue
        ours = run_json([*bench, *(["--filter", options.ops] if options.ops else [])])
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


# Order for each file: hearth, llama.cpp, hearth.
def compare_language(options):
    if not pathlib.Path(options.llama_bench).exists():
        skip(f"llama.cpp ({options.llama_bench} does not exist; build llama-bench and pass its path with --llama-bench)")
        return []
    common = ["--json", "--threads", str(options.threads), "--repetitions", str(options.repeats)]
    rows = []
    for model in options.language_models.split(","):
        for weights in options.weights.split(","):
            with tempfile.TemporaryDirectory() as folder:
                file = str(pathlib.Path(folder) / "model.gguf")
                before = run_json([options.hearth, "bench", "--model", model, "--weight-type", weights, "--save-weights", file, *common])
                peer = {}
                for run in run_json([options.llama_bench, "-m", file, "-p", "512", "-n", "64", "-t", str(options.threads),
                                     "-r", str(options.repeats), "-o", "json"], stderr=subprocess.DEVNULL):
                    peer["prompt" if run["n_prompt"] else "decode"] = run["avg_ts"]
                after = run_json([options.hearth, "bench", "--model", file, *common])
            for part in ("prompt", "decode"):
                ours = statistics.mean(run["parts"][part]["tokens_per_second"] for run in (before, after))
                rows.append({"model": model, "weights": weights, "part": part, "hearth": ours, "fraction": after["parts"][part]["fraction"],
                             "peer": "llama.cpp", "tokens_per_second": peer[part], "ratio": ours / peer[part]})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hearth", default=str(ROOT / "build" / "release" / "bin" / "hearth"))
    parser.add_argument("--onednn", default=str(ROOT / "build" / "release" / "bin" / "hearth_onednn_ops"))
    parser.add_argument("--llama-bench", default="llama-bench")
    parser.add_argument("--only", choices=["images", "ops", "language"])
    parser.add_argument("--path", choices=["avx2"], help="widest kernel path; f32 only")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--ops", default="", metavar="WORD", help="only ops with this in their name")
    parser.add_argument("--weights", default=",".join(WEIGHTS), help="weight types of the language models")
    parser.add_argument("--language-models", default="llama-1b,qwen-0.5b")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.types = TYPES
    options.llama_bench = shutil.which(options.llama_bench) or options.llama_bench
    if options.path == "avx2":
        options.types = ["f32"]
        os.environ.update(HEARTH_CPU="avx2", ATEN_CPU_CAPABILITY="avx2", ONEDNN_MAX_CPU_ISA="AVX2", MKL_ENABLE_INSTRUCTIONS="AVX2")

    selected = lambda what: options.only in (None, what)
    models = compare_models(options) if selected("images") else {"rows": []}
    ops = compare_ops(options) if selected("ops") else []
    language = compare_language(options) if selected("language") and options.path is None else []
    if options.json:
        print(json.dumps({"machine": models.get("machine"), "parts": models["rows"], "ops": ops, "language": language}))
        return
    if models["rows"]:
        print("| part | factors | hearth, s | of the ceiling | other program | other, s | hearth is faster by |\n|---|---|---:|---:|---|---:|---:|")
        for r in models["rows"]:
            print(f"| {r['part']} | {r['factors']} | {r['hearth']:.3f} | {r['fraction']:.2f} | {r['peer']} | {r['seconds']:.3f} "
                  f"| {r['ratio']:.2f} × |")
    if ops:
        print("\n| products of | factors | hearth, s | other program | other, s | hearth is faster by |\n|---|---|---:|---|---:|---:|")
        for r in ops:
            print(f"| {r['work']} | {r['factors']} | {r['hearth']:.3f} | {r['peer']} | {r['seconds']:.3f} | {r['ratio']:.2f} × |")
    if language:
        print("\n| model | weights | part | hearth, tokens/s | of the ceiling | other program | tokens/s | hearth is faster by |\n"
              "|---|---|---|---:|---:|---|---:|---:|")
        for r in language:
            print(f"| {r['model']} | {r['weights']} | {r['part']} | {r['hearth']:.1f} | {r['fraction']:.2f} | {r['peer']} "
                  f"| {r['tokens_per_second']:.1f} | {r['ratio']:.2f} × |")


if __name__ == "__main__":
    main()
