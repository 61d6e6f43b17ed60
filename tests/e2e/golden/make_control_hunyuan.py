"""Goldens of ControlNets of Hunyuan-DiT: what diffusers' HunyuanDiTControlNetPipeline makes with the small checkpoints of make_hunyuan.py.

    OMP_NUM_THREADS=1 python make_control_hunyuan.py [NAME …]

needs what those need; writes control/NAME, the networks as save_pretrained publishes them (weights from their names, f16), one under its authors'
names in control/authors, control_hunyuan.json (the cases) and control_hunyuan.safetensors: per case the final latents [n, c, h, w] f32, and images.

The pipeline draws the latents of the control image from torch's global generator, so that two runs differ. Here they are the posterior's mode. It has
no start and end: outside them the network's outputs are multiplied by 0.
"""
import json
import os
import sys
import warnings

os.environ["OMP_NUM_THREADS"] = "1"
warnings.filterwarnings("ignore")

import diffusers  # noqa: E402
import make  # noqa: E402
import make_hunyuan  # noqa: E402
import make_sd3  # noqa: E402
import name_weights  # noqa: E402
import torch  # noqa: E402
from diffusers import HunyuanDiT2DControlNetModel, HunyuanDiTControlNetPipeline  # noqa: E402
from diffusers.models.autoencoders.vae import DiagonalGaussianDistribution  # noqa: E402
from diffusers.schedulers import scheduling_ddpm  # noqa: E402
from make_control import control_picture, one  # noqa: E402
from PIL import Image  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

HERE = make.HERE
NETWORKS = {
    "hunyuan_11_canny": dict(make_hunyuan.NET, transformer_num_layers=6),
    "hunyuan_12_pose": dict(make_hunyuan.NET, transformer_num_layers=4, use_style_cond_and_image_meta_size=False),
}
WITH_11 = dict(checkpoint="hunyuan_11", kind="text", width=64, height=64, steps=5, guidance=5.0, seed=11, prompt="a red house on green hills",
               no_binning=True)
WITH_12 = dict(WITH_11, checkpoint="hunyuan_12")
CASES = {
    "hunyuan_11": dict(WITH_11, controls=[one("hunyuan_11_canny")]),
    "hunyuan_11_sizes": dict(WITH_11, width=80, height=48, negative="snow, night", original_size=[512, 768], target_size=[640, 480], crop=[16, 8],
                             controls=[one("hunyuan_11_canny", (80, 48), scale=0.7)]),
    "hunyuan_12": dict(WITH_12, controls=[one("hunyuan_12_pose")]),
    "hunyuan_12_half": dict(WITH_12, width=48, height=112, controls=[one("hunyuan_12_pose", (100, 70), scale=0.5)]),
    "hunyuan_12_one": dict(WITH_12, guidance=1.0, width=144, height=32, controls=[one("hunyuan_12_pose", (144, 32))]),
    "hunyuan_12_window": dict(WITH_12, steps=8, controls=[one("hunyuan_12_pose", start=0.2, end=0.7)]),
    "hunyuan_12_two": dict(WITH_12, controls=[one("hunyuan_12_pose", scale=0.6), one("hunyuan_12_pose", (80, 64), seed=1, scale=0.9)]),
    "hunyuan_12_dpmpp": dict(WITH_12, sampler="dpmpp_2m", guidance=3.0, negative="snow, night, rain", controls=[one("hunyuan_12_pose", seed=1)]),
    "hunyuan_12_long": dict(WITH_12, prompt=make.LONG, negative=make.LONG[::-1], controls=[one("hunyuan_12_pose")]),
    "hunyuan_12_batch": dict(WITH_12, batch=2, controls=[one("hunyuan_12_pose")]),
    "hunyuan_12_batch_one_generator": dict(WITH_12, batch=2, compat="diffusers", controls=[one("hunyuan_12_pose")]),
    "hunyuan_12_binned": dict({k: v for k, v in WITH_12.items() if k != "no_binning"}, width=700, height=500, steps=1, guidance=1.0,
                              controls=[one("hunyuan_12_pose", (100, 70))]),  # made in 768×1024
}
DiagonalGaussianDistribution.sample = lambda self, generator=None: self.mode()


def make_networks():
    for name, config in NETWORKS.items():
        net = HunyuanDiT2DControlNetModel.from_config(config)
        name_weights.fill(net)
        net.half().save_pretrained(HERE / "control" / name)
        file = HERE / "control" / name / "config.json"
        config = json.loads(file.read_text())
        config.pop("_name_or_path", None)
        file.write_text(json.dumps(config, indent=2) + "\n")


def authors_file():
    """hunyuan_11_canny under its authors' names, the reverse of their script for diffusers."""
    t = load_file(HERE / "control/hunyuan_11_canny/diffusion_pytorch_model.safetensors")
    for i in range(2):
        b = f"blocks.{i}."
        for part in ("weight", "bias"):
            t[f"{b}attn1.Wqkv.{part}"] = torch.cat([t.pop(f"{b}attn1.to_{x}.{part}") for x in "qkv"])
            t[f"{b}attn2.kv_proj.{part}"] = torch.cat([t.pop(f"{b}attn2.to_{x}.{part}") for x in "kv"])
            t[f"{b}attn2.q_proj.{part}"] = t.pop(f"{b}attn2.to_q.{part}")
            for attention in ("attn1", "attn2"):
                for old, new in (("norm_q", "q_norm"), ("norm_k", "k_norm"), ("to_out.0", "out_proj")):
                    t[f"{b}{attention}.{new}.{part}"] = t.pop(f"{b}{attention}.{old}.{part}")
            t[f"{b}norm2.{part}"], t[f"{b}norm3.{part}"] = t[f"{b}norm3.{part}"], t[f"{b}norm2.{part}"]
            for old, new in (("norm1.linear", "default_modulation.1"), ("norm1.norm", "norm1"), ("ff.net.0.proj", "mlp.fc1"), ("ff.net.2", "mlp.fc2")):
                t[f"{b}{new}.{part}"] = t.pop(f"{b}{old}.{part}")
    ends = {"controlnet_blocks.": "after_proj_list.", "input_block.": "before_proj.", "pos_embed.": "x_embedder.", "text_embedder.linear_1.": "mlp_t5.0.",
            "text_embedder.linear_2.": "mlp_t5.2.", "time_extra_emb.timestep_embedder.linear_1.": "t_embedder.mlp.0.",
            "time_extra_emb.timestep_embedder.linear_2.": "t_embedder.mlp.2.", "time_extra_emb.pooler.": "pooler.",
            "time_extra_emb.style_embedder.": "style_embedder.", "time_extra_emb.extra_embedder.linear_1.": "extra_embedder.0.",
            "time_extra_emb.extra_embedder.linear_2.": "extra_embedder.2."}
    out = {}
    for name, value in t.items():
        old = next((k for k in ends if name.startswith(k)), "")
        out[ends.get(old, "") + name[len(old):]] = value.contiguous()
    save_file(out, HERE / "control/authors/hunyuan_11_canny.safetensors")


def opened(control, steps):
    net = HunyuanDiT2DControlNetModel.from_pretrained(HERE / "control" / control["network"], torch_dtype=torch.float32).eval()
    forward, calls = net.forward, iter(range(steps))

    def within(*args, conditioning_scale=1.0, **kwargs):
        i = next(calls)
        acts = i / steps >= control.get("start", 0.0) and (i + 1) / steps <= control.get("end", 1.0)
        return forward(*args, conditioning_scale=conditioning_scale * acts, **kwargs)

    net.forward = within
    return net


@torch.no_grad()
def draw(case, tensors):
    controls, n = case["controls"], case.get("batch", 1)
    nets, images, many = [opened(c, case["steps"]) for c in controls], [], len(controls) > 1
    for c in controls:
        picture = control_picture(*c["size"], c["seed"])
        tensors["control{}.{}x{}".format(c["seed"], *c["size"])] = torch.from_numpy(picture)
        images.append(Image.fromarray(picture))
    pick = lambda values: values if many else values[0]  # noqa: E731
    pipe = HunyuanDiTControlNetPipeline.from_pretrained(HERE / case["checkpoint"], controlnet=pick(nets), torch_dtype=torch.float32)
    pipe.set_progress_bar_config(disable=True)
    pipe.scheduler = make_sd3.with_sampler(pipe.scheduler, case)
    sizes = {key: tuple(case[asked][::-1]) for key, asked in (("original_size", "original_size"), ("target_size", "target_size"),
                                                              ("crops_coords_top_left", "crop")) if asked in case}
    return pipe([case["prompt"]] * n, negative_prompt=[case.get("negative", "")] * n, num_inference_steps=case["steps"], guidance_scale=case["guidance"],
                generator=make_sd3.generators(case, n), output_type="latent", control_image=pick(images),
                controlnet_conditioning_scale=pick([c.get("scale", 1.0) for c in controls]), use_resolution_binning=not case.get("no_binning"),
                width=case["width"], height=case["height"], **sizes).images


def main():
    scheduling_ddpm.randn_tensor = make.noise_as_in_f32
    make_networks(), authors_file()
    names = [w for w in sys.argv[1:] if w in CASES] or list(CASES)
    file = HERE / "control_hunyuan.safetensors"
    tensors = load_file(file) if file.exists() and len(names) < len(CASES) else {}
    for label in names:
        latents = draw(CASES[label], tensors)
        tensors[label] = latents.contiguous()
        print(f"{label}: rms {latents.square().mean().sqrt():.3g}", flush=True)
    versions = dict(torch=torch.__version__, diffusers=diffusers.__version__)
    save_file(tensors, file, metadata={"made by": "tests/e2e/golden/make_control_hunyuan.py", **versions})
    (HERE / "control_hunyuan.json").write_text(json.dumps(dict(versions=versions, cases=CASES), indent=1) + "\n")


if __name__ == "__main__":
    main()
