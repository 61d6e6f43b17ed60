"""Goldens of FLUX.2: what diffusers' Flux2Pipeline and Flux2KleinPipeline make of two small checkpoints.

    OMP_NUM_THREADS=1 python make_flux2.py [checkpoints] [images]

needs diffusers 0.39.0, transformers 4.57.1, tokenizers and torch (see tools/oracle-requirements.txt). It writes, beside itself,

    flux2_dev/, flux2_klein/   checkpoints as save_pretrained publishes them (weights from their names, see tools/name_weights.py)
    flux2.json                 the cases
    flux2.safetensors          per case the final latents [n, 128, h, w] f32; pictures and reference images [H, W, 3] u8

`rounding` is the relative L2 distance between the f32 latents and the same run with transformer and autoencoder in f64.
"""

import json
import shutil
import sys

import make as base
import torch
from diffusers import AutoencoderKLFlux2, FlowMatchEulerDiscreteScheduler, Flux2KleinPipeline, Flux2Pipeline, Flux2Transformer2DModel
from diffusers.utils.torch_utils import randn_tensor
from make_flux import picture
from make_z_image import CHAT, tokenizer
from PIL import Image
from safetensors.torch import save_file
from transformers import Mistral3Config, Mistral3ForConditionalGeneration, PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

import diffusers
import transformers

HERE, name_weights = base.HERE, base.name_weights
INST = ("{{ bos_token }}{%- for m in messages %}{%- if m.role == 'system' %}{{ '[SYSTEM_PROMPT]' + m.content[0].text + '[/SYSTEM_PROMPT]' }}"
        "{%- else %}{{ '[INST]' + m.content[0].text + '[/INST]' }}{%- endif %}{%- endfor %}")
MARKS = ["[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[IMG]"]
TEXT = dict(hidden_size=8, intermediate_size=12, num_attention_heads=2, num_key_value_heads=1, head_dim=4, max_position_embeddings=1024,
            rope_theta=1000.0)
VAE = dict(block_out_channels=(4, 8, 8, 8), layers_per_block=1, norm_num_groups=2, latent_channels=2)
TRANSFORMER = dict(in_channels=8, num_layers=1, num_single_layers=2, attention_head_dim=16, num_attention_heads=2, joint_attention_dim=24,
                   timestep_guidance_channels=32, axes_dims_rope=(4, 4, 4, 4))
SCHEDULER = dict(num_train_timesteps=1000, shift=3.0, use_dynamic_shifting=True, base_shift=0.5, max_shift=1.15, base_image_seq_len=256,
                 max_image_seq_len=4096)

SMALL = dict(checkpoint="flux2_dev", kind="text", width=64, height=48, steps=4, guidance=4.0, seed=1, prompt="a red house on green hills")
KLEIN = dict(SMALL, checkpoint="flux2_klein")
DISTILLED = dict(KLEIN, edits={"model_index.json": {"is_distilled": True}}, guidance=1.0)
CASES = {
    "default": dict(SMALL),
    "guidance": dict(SMALL, guidance=1.0),
    "long": dict(SMALL, prompt=base.LONG, seed=3),
    "marked": dict(SMALL, prompt="a [IMG]red house[IMG]"),
    "few_tokens": dict(SMALL, length=100),
    "unicode": dict(SMALL, prompt=base.UNICODE, seed=2),
    "twelve_steps": dict(SMALL, steps=12, width=32, height=80),
    "batch": dict(SMALL, batch=2, seed=40, width=32, height=32),
    "batch_one_generator": dict(SMALL, batch=2, seed=41, width=32, height=32, compat="diffusers"),
    "reference": dict(SMALL, references=[[96, 64]]),
    "references": dict(SMALL, references=[[64, 112], [80, 64]], seed=9),
    "klein": dict(KLEIN),
    "klein_little": dict(KLEIN, guidance=1.5, steps=7, length=40),
    "klein_off": dict(KLEIN, guidance=1.0),
    "klein_long": dict(KLEIN, prompt=base.LONG, seed=3, length=30),
    "klein_one_step": dict(KLEIN, steps=1, width=80, height=16),
    "klein_reference": dict(KLEIN, references=[[64, 64]], batch=2, seed=90, compat="diffusers"),
    "distilled": dict(DISTILLED),
    "distilled_reference": dict(DISTILLED, references=[[80, 64]], seed=91),
}


def mistral_tokenizer():
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer().backend_tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<pad>",
                                   additional_special_tokens=MARKS, padding_side="left", model_max_length=1024)
    made.chat_template = INST
    return made


def make_checkpoint(name):
    out = HERE / name
    shutil.rmtree(out, ignore_errors=True)
    dev = name == "flux2_dev"
    words = mistral_tokenizer() if dev else tokenizer()
    rows = -(-len(words) // 8) * 8
    if dev:
        vision = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, head_dim=4, image_size=28, patch_size=14)
        text = Mistral3ForConditionalGeneration(Mistral3Config(
            text_config=dict(model_type="mistral", vocab_size=rows, num_hidden_layers=31, sliding_window=None, **TEXT), vision_config=dict(model_type="pixtral", **vision)))
    else:
        text = Qwen3ForCausalLM(Qwen3Config(vocab_size=rows, num_hidden_layers=28, tie_word_embeddings=False, **TEXT))
    transformer = Flux2Transformer2DModel(guidance_embeds=dev, **TRANSFORMER)
    vae = AutoencoderKLFlux2(down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4, sample_size=64, **VAE)
    for part in (text, transformer, vae):
        name_weights.fill(part)
    with torch.no_grad():
        vae.decoder.conv_out.weight *= 0.4
        vae.bn.running_var.abs_().add_(0.5)
    scheduler = FlowMatchEulerDiscreteScheduler(**SCHEDULER)
    parts = dict(scheduler=scheduler, vae=vae, text_encoder=text, tokenizer=words, transformer=transformer)
    pipe = Flux2Pipeline(**parts) if dev else Flux2KleinPipeline(**parts)
    pipe.to(dtype=torch.bfloat16 if dev else torch.float16).save_pretrained(out, safe_serialization=True)
    for path in out.glob("*/*config.json"):
        config = json.loads(path.read_text())
        config.pop("_name_or_path", None)
        path.write_text(json.dumps(config, indent=2) + "\n")
    print(name, sum(p.stat().st_size for p in out.rglob("*") if p.is_file()), "bytes")


def noise_as_in_f32(shape, generator=None, device=None, dtype=None, layout=None):
    return randn_tensor(shape, generator=generator, device=device, dtype=torch.float32).to(dtype)


for pipeline in (Flux2Pipeline, Flux2KleinPipeline):
    sys.modules[pipeline.__module__].randn_tensor = noise_as_in_f32


@torch.no_grad()
def draw(case, dtype):
    cls = Flux2Pipeline if case["checkpoint"] == "flux2_dev" else Flux2KleinPipeline
    pipe = cls.from_pretrained(HERE / case["checkpoint"], torch_dtype=torch.float32)
    if "edits" in case:
        pipe.register_to_config(is_distilled=True)
    batch, seed, W, H = case.get("batch", 1), case["seed"], case["width"], case["height"]
    length = case.get("length", 512)
    embeds = dict(prompt_embeds=pipe.encode_prompt(case["prompt"], max_sequence_length=length)[0].to(dtype))
    if cls is Flux2KleinPipeline:
        embeds["negative_prompt_embeds"] = pipe.encode_prompt("", max_sequence_length=length)[0].to(dtype)
    pipe.transformer.to(dtype), pipe.vae.to(dtype)
    pipe.set_progress_bar_config(disable=True)
    generator = torch.Generator().manual_seed(seed) if case.get("compat") == "diffusers" else [torch.Generator().manual_seed(seed + k) for k in range(batch)]
    if batch == 1:
        generator = torch.Generator().manual_seed(seed)
    embeds = {k: v.expand(batch, -1, -1) for k, v in embeds.items()}
    references = [Image.fromarray(picture(*size, phase=3 + i)) for i, size in enumerate(case.get("references", []))]
    packed = []
    pipe(width=W, height=H, num_inference_steps=case["steps"], guidance_scale=case["guidance"], generator=generator, output_type="latent",
         image=references or None, callback_on_step_end=lambda _, __, ___, state: packed.append(state["latents"]) or state, **embeds)
    h, w = H // 16, W // 16
    return packed[-1].permute(0, 2, 1).reshape(batch, -1, h, w)


def main():
    what = sys.argv[1:] or ["checkpoints", "images"]
    if "checkpoints" in what:
        for name in ("flux2_dev", "flux2_klein"):
            make_checkpoint(name)
    if "images" not in what:
        return
    tensors, cases = {}, {}
    for name, case in CASES.items():
        latents, exact = draw(case, torch.float32), draw(case, torch.float64)
        record = dict(case) | {"rounding": float(f"{float((latents - exact).norm() / exact.norm()):.1e}")}
        for i, (w, h) in enumerate(case.get("references", [])):
            tensors[f"reference{i}.{w}x{h}"] = torch.from_numpy(picture(w, h, phase=3 + i))
        tensors[name], cases[name] = latents.float().contiguous(), record
        print(f"{name}: latents {tuple(latents.shape)} rms {latents.square().mean().sqrt():.3g}, rounding {record['rounding']:.1e}", flush=True)
    versions = dict(torch=torch.__version__, diffusers=diffusers.__version__, transformers=transformers.__version__)
    save_file(tensors, HERE / "flux2.safetensors", metadata={"made by": "tests/e2e/golden/make_flux2.py", **versions})
    (HERE / "flux2.json").write_text(json.dumps(dict(versions=versions, cases=cases), indent=1, ensure_ascii=True) + "\n")


if __name__ == "__main__":
    main()
