"""Goldens of Qwen-Image-Edit: what diffusers' QwenImageEditPipeline, QwenImageEditPlusPipeline and QwenImageEditInpaintPipeline make of a small
checkpoint.

    OMP_NUM_THREADS=1 python make_qwen_image_edit.py [checkpoints] [images]

needs diffusers 0.39.0, transformers 4.57.1, tokenizers and torch (see tools/oracle-requirements.txt). It writes, beside itself,

    qwen_image_edit/              a checkpoint as save_pretrained publishes it (weights from their names, see tools/name_weights.py)
    qwen_image_edit.json          the cases
    qwen_image_edit.safetensors   per case the final latents [n, c, h, w] f32; reference images [H, W, 3] u8

`rounding` is the relative L2 distance between the f32 latents and the same run with transformer and autoencoder in f64.

QwenImageEditInpaintPipeline draws the latents of the image that is edited from its posterior, once for both of its uses: as the latents under the
mask, and as the tokens behind those of the generated image. hearth draws the former alone, as QwenImageEditPipeline does; so do these goldens.
"""

import json
import shutil
import sys

import make as base
import make_qwen_image as plain
import torch
from diffusers import (FlowMatchEulerDiscreteScheduler, QwenImageEditInpaintPipeline, QwenImageEditPipeline, QwenImageEditPlusPipeline,
                       QwenImageTransformer2DModel)
from diffusers.models.autoencoders.vae import DiagonalGaussianDistribution
from make_flux import mask, picture
from PIL import Image
from safetensors.torch import save_file
from transformers import Qwen2VLImageProcessor, Qwen2VLProcessor, Qwen2VLVideoProcessor

import diffusers
import transformers

HERE, name_weights = base.HERE, base.name_weights
SMALL = dict(checkpoint="qwen_image_edit", kind="text", width=64, height=48, steps=2, guidance=4.0, seed=1, prompt="a red house on green hills")
ONE = dict(SMALL, pipeline="QwenImageEditPipeline")
CASES = {
    "one": dict(SMALL, references=[[96, 64]]),
    "two": dict(SMALL, references=[[64, 112], [80, 64]], negative="snow", seed=9),
    "zero": dict(SMALL, references=[[40, 40]], negative=" ", edits={"transformer/config.json": {"zero_cond_t": True}}),
    "batch": dict(SMALL, references=[[40, 40]], batch=2, seed=40),
    "edit": dict(ONE, references=[[96, 64]]),
    "edit_negative": dict(ONE, references=[[30, 70]], negative="snow", guidance=2.5, seed=3, steps=3),
    "default_size": dict(ONE, references=[[96, 64]], width=1248, height=832),
    "paint": dict(ONE, references=[[96, 64]], width=1248, height=832, kind="paint", from_reference=True, strength=0.6, negative=" ", seed=4, steps=3),
}


def make_checkpoint():
    out = HERE / "qwen_image_edit"
    shutil.rmtree(out, ignore_errors=True)
    words = plain.tokenizer()
    text, vae = plain.networks(words)
    transformer = QwenImageTransformer2DModel(**plain.TRANSFORMER)
    for part in (text, transformer, vae):
        name_weights.fill(part)
    processor = Qwen2VLProcessor(image_processor=Qwen2VLImageProcessor(), tokenizer=words, video_processor=Qwen2VLVideoProcessor())
    pipe = QwenImageEditPlusPipeline(scheduler=FlowMatchEulerDiscreteScheduler(**plain.SCHEDULER), vae=vae, text_encoder=text, tokenizer=words,
                                     processor=processor, transformer=transformer)
    pipe.to(dtype=torch.bfloat16).save_pretrained(out, safe_serialization=True)
    for path in out.glob("*/*config.json"):
        config = json.loads(path.read_text())
        config.pop("_name_or_path", None)
        path.write_text(json.dumps(config, indent=2) + "\n")
    print("qwen_image_edit", sum(p.stat().st_size for p in out.rglob("*") if p.is_file()), "bytes")


for pipeline in (QwenImageEditPipeline, QwenImageEditPlusPipeline, QwenImageEditInpaintPipeline):
    sys.modules[pipeline.__module__].randn_tensor = plain.noise_as_in_f32


def use_mode_of_reference(pipe):
    """Puts the posterior's mode in place of the tokens behind those of the generated image."""
    sample, forward, modes = DiagonalGaussianDistribution.sample, pipe.transformer.forward, []

    def sampled(posterior, generator=None):
        modes.append(posterior.mode())
        return sample(posterior, generator)

    def run(hidden_states, **rest):
        mean, std = (torch.tensor(v).view(1, -1, 1, 1, 1).to(hidden_states.dtype) for v in (pipe.vae.config.latents_mean, pipe.vae.config.latents_std))
        z = ((modes[0] - mean) * (1.0 / std)).transpose(1, 2)
        tokens = pipe._pack_latents(z, 1, z.shape[2], *z.shape[3:])
        return forward(hidden_states=torch.cat([hidden_states[:, :-tokens.shape[1]], tokens], 1), **rest)

    DiagonalGaussianDistribution.sample, pipe.transformer.forward = sampled, run
    return lambda: setattr(DiagonalGaussianDistribution, "sample", sample)


@torch.no_grad()
def draw(case, dtype):
    cls = QwenImageEditPipeline if "pipeline" in case else QwenImageEditPlusPipeline
    if case["kind"] == "paint":
        cls = QwenImageEditInpaintPipeline
    pipe = cls.from_pretrained(HERE / case["checkpoint"], torch_dtype=torch.float32)
    if "edits" in case:
        config = {k: v for k, v in pipe.transformer.config.items() if not k.startswith("_")} | case["edits"]["transformer/config.json"]
        transformer = QwenImageTransformer2DModel(**config).eval()
        transformer.load_state_dict(pipe.transformer.state_dict())
        pipe.transformer = transformer
    batch, seed, W, H = case.get("batch", 1), case["seed"], case["width"], case["height"]
    references = [Image.fromarray(picture(*size, phase=3 + i)) for i, size in enumerate(case["references"])]
    encode = pipe.encode_prompt
    pipe.encode_prompt = lambda **given: tuple(None if x is None else x.to(dtype) for x in encode(**given))  # in f32
    pipe.transformer.to(dtype), pipe.vae.to(dtype)
    if dtype is torch.float64:  # the pipeline prepares images in the type of the prompt
        pipe.image_processor.preprocess = (lambda prepare: lambda *a, **k: prepare(*a, **k).to(dtype))(pipe.image_processor.preprocess)
    pipe.set_progress_bar_config(disable=True)
    generator = [torch.Generator().manual_seed(seed + k) for k in range(batch)] if batch > 1 else torch.Generator().manual_seed(seed)
    given = dict(negative_prompt=case["negative"]) if "negative" in case else {}
    if case["kind"] == "paint":
        given |= dict(mask_image=Image.fromarray(mask(*case["references"][0])), strength=case["strength"])
        restore = use_mode_of_reference(pipe)
    packed = pipe(image=references if cls is QwenImageEditPlusPipeline else references[0], prompt=case["prompt"], width=W, height=H,
                  num_inference_steps=case["steps"], true_cfg_scale=case["guidance"], generator=generator, output_type="latent",
                  num_images_per_prompt=batch, **given).images
    if case["kind"] == "paint":
        restore()
    return pipe._unpack_latents(packed, H, W, pipe.vae_scale_factor)[:, :, 0]


def main():
    what = sys.argv[1:] or ["checkpoints", "images"]
    if "checkpoints" in what:
        make_checkpoint()
    if "images" not in what:
        return
    tensors, cases = {}, {}
    for name, case in CASES.items():
        latents, exact = draw(case, torch.float32), draw(case, torch.float64)
        record = dict(case) | {"rounding": float(f"{float((latents - exact).norm() / exact.norm()):.1e}")}
        for i, (w, h) in enumerate(case["references"]):
            tensors[f"reference{i}.{w}x{h}"] = torch.from_numpy(picture(w, h, phase=3 + i))
            if case["kind"] == "paint":
                tensors[f"mask.{w}x{h}"] = torch.from_numpy(mask(w, h))
        tensors[name], cases[name] = latents.float().contiguous(), record
        print(f"{name}: latents {tuple(latents.shape)} rms {latents.square().mean().sqrt():.3g}, rounding {record['rounding']:.1e}", flush=True)
    versions = dict(torch=torch.__version__, diffusers=diffusers.__version__, transformers=transformers.__version__)
    save_file(tensors, HERE / "qwen_image_edit.safetensors", metadata={"made by": "tests/e2e/golden/make_qwen_image_edit.py", **versions})
    (HERE / "qwen_image_edit.json").write_text(json.dumps(dict(versions=versions, cases=cases), indent=1, ensure_ascii=True) + "\n")


if __name__ == "__main__":
    main()
