"""Goldens of ControlNets of Hunyuan-DiT: what diffusers' HunyuanDiTControlNetPipeline makes with the small checkpoints of make_hunyuan.py.

    OMP_NUM_THREADS=1 python make_control_hunyuan.py [NAME …]

needs what those need; writes control/NAME, the networks as save_pretrained publishes them (weights from their names, f16), one under its authors'
names in control/authors, control_hunyuan.json (the cases) and control_hunyuan.safetensors: per case the final latents [n, c, h, w] f32, and images.

The pipeline draws the latents of the control image from torch's global generator, so that two runs differ. Here they are the posterior's mode. It has
no start and end: outside them the network's outputs are multiplied by 0.
"""
import controls  # in front of torch
import make
import make_hunyuan
import make_sd3
import torch
from controls import HERE, one, picked
from diffusers import HunyuanDiT2DControlNetModel, HunyuanDiTControlNetPipeline
from diffusers.models.autoencoders.vae import DiagonalGaussianDistribution
from diffusers.schedulers import scheduling_ddpm

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


def authors_file():
    """hunyuan_11_canny under its authors' names, the reverse of their script for diffusers."""
    t = controls.weights_of("hunyuan_11_canny")
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
    controls.save_for_authors("hunyuan_11_canny", out)


def opened(control, steps):
    net = controls.opened(HunyuanDiT2DControlNetModel, control["network"])
    forward, acts = net.forward, controls.windows(control, steps)
    net.forward = lambda *args, conditioning_scale=1.0, **kwargs: forward(*args, conditioning_scale=conditioning_scale * next(acts), **kwargs)
    return net


@torch.no_grad()
def draw(case, tensors):
    given, n = case["controls"], case.get("batch", 1)
    nets, images = [opened(c, case["steps"]) for c in given], controls.control_images(given, tensors)
    pipe = HunyuanDiTControlNetPipeline.from_pretrained(HERE / case["checkpoint"], controlnet=picked(nets), torch_dtype=torch.float32)
    pipe.set_progress_bar_config(disable=True)
    pipe.scheduler = make_sd3.with_sampler(pipe.scheduler, case)
    sizes = {key: tuple(case[asked][::-1]) for key, asked in (("original_size", "original_size"), ("target_size", "target_size"),
                                                              ("crops_coords_top_left", "crop")) if asked in case}
    return pipe([case["prompt"]] * n, negative_prompt=[case.get("negative", "")] * n, num_inference_steps=case["steps"], guidance_scale=case["guidance"],
                generator=controls.generators(case), output_type="latent", control_image=picked(images),
                controlnet_conditioning_scale=picked([c.get("scale", 1.0) for c in given]), use_resolution_binning=not case.get("no_binning"),
                width=case["width"], height=case["height"], **sizes).images


def main():
    scheduling_ddpm.randn_tensor = make.noise_as_in_f32
    for name, config in NETWORKS.items():
        controls.make_network(name, HunyuanDiT2DControlNetModel.from_config(config))
    authors_file()
    controls.write("control_hunyuan", CASES, draw)


if __name__ == "__main__":
    main()
