"""Goldens of ControlNets of SANA: what diffusers' SanaControlNetPipeline makes with the small checkpoints of make_sana.py.

    OMP_NUM_THREADS=1 python make_control_sana.py [NAME …]

needs what those need; writes control/NAME, the networks as save_pretrained publishes them (weights from their names, f16), control_sana.json (the cases)
and control_sana.safetensors: per case the final latents [n, c, h, w] f32, and images.

The pipeline has no start and end: outside them the network's outputs are multiplied by 0.
It forgets timestep_scale, by which SanaPipeline multiplies the timestep: here both networks apply it.
"""
import controls  # in front of torch
import make
import make_sana
import torch
from controls import HERE, one
from diffusers import SanaControlNetModel, SanaControlNetPipeline



def of(name, layers):
    config = {k: v for k, v in make_sana.CHECKPOINTS[name]["transformer"].items() if k not in ("out_channels", "qk_norm", "timestep_scale")}
    return dict(config, num_layers=layers)


NETWORKS = {"sana_hed": of("sana", 1), "sana_long": of("sana", 2), "sana_15_hed": of("sana_15", 2)}
SMALL = dict(checkpoint="sana", kind="text", width=128, height=128, steps=5, guidance=4.5, seed=11, prompt="a red house on green hills", no_binning=True)
CASES = {
    "sana": dict(SMALL, controls=[one("sana_hed", (128, 128))]),
    "half": dict(SMALL, width=160, height=96, negative="Snow, NIGHT, rain ", controls=[one("sana_hed", (100, 70), scale=0.5)]),
    "no_guidance": dict(SMALL, guidance=1.0, width=64, height=224, controls=[one("sana_hed", (64, 224), seed=1)]),
    "window": dict(SMALL, steps=8, controls=[one("sana_hed", (128, 128), start=0.2, end=0.7)]),
    "long": dict(SMALL, prompt=make.LONG, negative=make.LONG[::-1], controls=[one("sana_long", (128, 128))]),  # as many blocks as the transformer
    "batch": dict(SMALL, batch=2, width=64, height=96, controls=[one("sana_hed", (64, 96))]),
    "batch_one_generator": dict(SMALL, batch=2, compat="diffusers", width=64, height=96, controls=[one("sana_hed", (64, 96))]),
    "binned": dict({k: v for k, v in SMALL.items() if k != "no_binning"}, width=150, height=87, steps=2,
                   controls=[one("sana_hed", (100, 70))]),  # made in 672×384
    "sana_15": dict(SMALL, checkpoint="sana_15", controls=[one("sana_15_hed", (128, 128), scale=0.8)]),
}


def opened(control, steps, timestep_scale):
    net = controls.opened(SanaControlNetModel, control["network"])
    forward, acts = net.forward, controls.windows(control, steps)

    def within(*args, timestep, conditioning_scale, **kwargs):
        return forward(*args, timestep=timestep * timestep_scale, conditioning_scale=conditioning_scale * next(acts), **kwargs)

    net.forward = within
    return net


@torch.no_grad()
def draw(case, tensors):
    batch, control = case.get("batch", 1), case["controls"][0]
    image = controls.control_images([control], tensors)[0]
    scale = make_sana.CHECKPOINTS[case["checkpoint"]]["transformer"].get("timestep_scale", 1.0)
    pipe = SanaControlNetPipeline.from_pretrained(HERE / case["checkpoint"], controlnet=opened(control, case["steps"], scale), torch_dtype=torch.float32)
    assert pipe.text_encoder.config._attn_implementation == "sdpa"
    forward = pipe.transformer.forward
    pipe.transformer.forward = lambda *args, timestep, **kwargs: forward(*args, timestep=timestep * scale, **kwargs)
    pipe.set_progress_bar_config(disable=True)
    return pipe([case["prompt"]] * batch, negative_prompt=[case.get("negative", "")] * batch, num_inference_steps=case["steps"],
                guidance_scale=case["guidance"], generator=controls.generators(case), output_type="latent", width=case["width"],
                height=case["height"], use_resolution_binning=not case.get("no_binning"), complex_human_instruction=make_sana.instruction_of(case),
                control_image=image, controlnet_conditioning_scale=control.get("scale", 1.0)).images


def main():
    for name, config in NETWORKS.items():
        controls.make_network(name, SanaControlNetModel.from_config(config))
    controls.write("control_sana", CASES, draw)


if __name__ == "__main__":
    main()
