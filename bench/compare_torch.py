"""Times diffusers and transformers on PyTorch at Stable Diffusion 1.5's sizes beside `hearth bench`, on the same machine in the same run.

    python bench/compare_torch.py [--hearth build/release/bin/hearth] [--threads N] [--repeats N] [--json]

Needs torch, diffusers and transformers (tools/oracle-requirements.txt). PyTorch runs in f32 with channels-last memory and its fused
attention, its fastest setting on a processor without matrix tiles. The two programs take turns, so that a drifting clock hits both.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIGS = ROOT / "assets" / "configs" / "sd15"


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


def torch_parts(threads, repeats):
    import torch
    from diffusers import AutoencoderKL, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    parts = {}
    with torch.inference_mode():
        text = CLIPTextModel(CLIPTextConfig(**config("text_encoder"))).eval()
        ids = torch.randint(0, 49408, (2, 77))
        parts["text"] = median_seconds(lambda: text(ids), repeats)
        del text

        unet = UNet2DConditionModel.from_config(config("unet")).eval().to(memory_format=torch.channels_last)
        x = torch.randn(2, 4, 64, 64).contiguous(memory_format=torch.channels_last)
        context = torch.randn(2, 77, 768)
        parts["unet_step"] = median_seconds(lambda: unet(x, 500, context).sample, repeats)
        del unet

        vae = AutoencoderKL.from_config(config("vae")).eval().to(memory_format=torch.channels_last)
        z = torch.randn(1, 4, 64, 64).contiguous(memory_format=torch.channels_last)
        parts["vae_decode"] = median_seconds(lambda: vae.decode(z).sample, repeats)
    return f"PyTorch {torch.__version__} f32", parts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hearth", default=str(ROOT / "build" / "release" / "bin" / "hearth"))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    command = [options.hearth, "bench", "--model", "sd15", "--json", "--threads", str(options.threads), "--repeats", str(options.repeats)]
    run = lambda: json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    before = run()
    name, torch_times = torch_parts(options.threads, options.repeats)
    after = run()

    rows = {}
    for part, seconds in torch_times.items():
        ours = statistics.mean([before["parts"][part]["seconds"], after["parts"][part]["seconds"]])
        rows[part] = {"hearth": ours, "torch": seconds, "ratio": seconds / ours}
    if options.json:
        print(json.dumps({"machine": after["machine"], "peer": name, "parts": rows}))
        return
    print(f"{'part':12} {'hearth, s':>10} {name + ', s':>28} {'hearth is faster by':>20}")
    for part, row in rows.items():
        print(f"{part:12} {row['hearth']:10.3f} {row['torch']:28.3f} {row['ratio']:19.2f}×")


if __name__ == "__main__":
    main()
