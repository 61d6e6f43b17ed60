"""Makes single/*.safetensors: tiny checkpoints of this folder as single files in the original layout, which the reference opens.

    python make_single.py        (tools/oracle-requirements.txt; make.py's checkpoints are there)

The original names are written down here by their rule. The reference's from_single_file is the proof: it must make of the file what the
folder holds, tensor for tensor, bit for bit, and draw the same latents.
"""
import os
import sys
import warnings
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
warnings.filterwarnings("ignore")

import diffusers  # noqa: E402
import torch  # noqa: E402
from diffusers import StableDiffusionPipeline  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

HERE = Path(__file__).resolve().parent
RESNET = {"norm1": "in_layers.0", "conv1": "in_layers.2", "time_emb_proj": "emb_layers.1", "norm2": "out_layers.0", "conv2": "out_layers.3",
          "conv_shortcut": "skip_connection"}
ENDS = {"time_embedding.linear_1": "time_embed.0", "time_embedding.linear_2": "time_embed.2", "conv_in": "input_blocks.0.0",
        "conv_norm_out": "out.0", "conv_out": "out.2"}
VAE_ATTENTION = {"group_norm": "norm", "to_q": "q", "to_k": "k", "to_v": "v", "to_out.0": "proj_out"}
OPEN_CLIP = {"layer_norm1": "ln_1", "layer_norm2": "ln_2", "self_attn.out_proj": "attn.out_proj", "mlp.fc1": "mlp.c_fc",
             "mlp.fc2": "mlp.c_proj"}


def unet_name(name, layers, attends):
    """attends: whether up block i attends, by index."""
    stem, end = name.rsplit(".", 1)
    if stem in ENDS:
        return f"{ENDS[stem]}.{end}"
    piece = stem.split(".")
    if piece[0] == "mid_block":
        place = {("resnets", "0"): "middle_block.0", ("attentions", "0"): "middle_block.1", ("resnets", "1"): "middle_block.2"}[piece[1], piece[2]]
        rest = piece[3:]
    else:
        level, kind, at = int(piece[1]), piece[2], int(piece[3])
        rest = piece[4:]
        if piece[0] == "down_blocks":
            first = 1 + level * (layers + 1)
            if kind == "downsamplers":
                return f"input_blocks.{first + layers}.0.op.{end}"
            place = f"input_blocks.{first + at}.{0 if kind == 'resnets' else 1}"
        else:
            first = level * (layers + 1)
            if kind == "upsamplers":
                return f"output_blocks.{first + layers}.{2 if attends[level] else 1}.conv.{end}"
            place = f"output_blocks.{first + at}.{0 if kind == 'resnets' else 1}"
    rest = ".".join(rest)
    return f"{place}.{RESNET.get(rest, rest) if 'resnets' in stem else rest}.{end}"


def vae_name(name, levels):
    stem, end = name.rsplit(".", 1)
    piece = stem.split(".")
    if "mid_block" in piece:
        if "resnets" in piece:
            rest = piece[4].replace("conv_shortcut", "nin_shortcut")
            return f"{piece[0]}.mid.block_{int(piece[3]) + 1}.{rest}.{end}"
        return f"{piece[0]}.mid.attn_1.{VAE_ATTENTION['.'.join(piece[4:])]}.{end}"
    if len(piece) > 2 and piece[1] in ("down_blocks", "up_blocks"):
        down = piece[1] == "down_blocks"
        level = int(piece[2]) if down else levels - 1 - int(piece[2])
        place = f"{piece[0]}.{'down' if down else 'up'}.{level}"
        if piece[3] == "resnets":
            return f"{place}.block.{piece[4]}.{piece[5].replace('conv_shortcut', 'nin_shortcut')}.{end}"
        return f"{place}.{'downsample' if down else 'upsample'}.conv.{end}"
    return f"{stem.replace('conv_norm_out', 'norm_out')}.{end}"


def open_clip(text):
    """OpenCLIP's names and fused matrices for a transformers encoder."""
    out = {}
    for name, value in text.items():
        if name == "text_model.embeddings.token_embedding.weight":
            out["token_embedding.weight"] = value
        elif name == "text_model.embeddings.position_embedding.weight":
            out["positional_embedding"] = value
        elif name.startswith("text_model.final_layer_norm."):
            out["ln_final." + name.rsplit(".", 1)[1]] = value
        elif ".q_proj." in name:
            layer, end = name.split(".")[3], name.rsplit(".", 1)[1]
            fused = torch.cat([text[name.replace("q_proj", p)] for p in ("q_proj", "k_proj", "v_proj")])
            out[f"transformer.resblocks.{layer}.attn.in_proj_{end}"] = fused
        elif "k_proj" not in name and "v_proj" not in name:
            piece = name.split(".")
            out[f"transformer.resblocks.{piece[3]}.{OPEN_CLIP['.'.join(piece[4:-1])]}.{piece[-1]}"] = value
    return out


def original(folder, layout):
    pipe = StableDiffusionPipeline.from_pretrained(folder, safety_checker=None)
    unet = load_file(folder / "unet/diffusion_pytorch_model.safetensors")
    vae = load_file(folder / "vae/diffusion_pytorch_model.safetensors")
    text = load_file(folder / "text_encoder/model.safetensors")
    layers, levels = pipe.unet.config.layers_per_block, len(pipe.vae.config.block_out_channels)
    attends = [kind.startswith("CrossAttn") for kind in pipe.unet.config.up_block_types]
    out = {}
    for name, value in unet.items():
        out["model.diffusion_model." + unet_name(name, layers, attends)] = value
    for name, value in vae.items():
        kernel = ".attentions.0.to_" in name and name.endswith("weight")
        out["first_stage_model." + vae_name(name, levels)] = value[:, :, None, None].contiguous() if kernel else value
    if layout == "clip":
        out |= {"cond_stage_model.transformer." + name: value for name, value in text.items()}
        out["cond_stage_model.transformer.text_model.embeddings.position_ids"] = torch.arange(77)[None]
    else:
        out |= {"cond_stage_model.model." + name: value for name, value in open_clip(text).items()}
        out["cond_stage_model.model.logit_scale"] = torch.tensor(4.6052)
    out["betas"], out["alphas_cumprod"] = torch.zeros(4), torch.ones(4)
    return {name: value.contiguous() for name, value in out.items()}


def draw(pipe):
    pipe.set_progress_bar_config(disable=True)
    return pipe("a cat", width=64, height=64, num_inference_steps=3, output_type="latent", generator=torch.Generator().manual_seed(5)).images


def main():
    diffusers.utils.logging.set_verbosity_error()
    (HERE / "single").mkdir(exist_ok=True)
    for name, layout in {"pndm": "clip", "ddim_v": "open_clip"}.items():
        folder, file = HERE / name, HERE / "single" / f"{name}.safetensors"
        tensors = original(folder, layout)
        save_file(tensors, file, metadata={"format": "pt"})
        wanted = StableDiffusionPipeline.from_pretrained(folder, safety_checker=None, torch_dtype=torch.float32)
        made = StableDiffusionPipeline.from_single_file(str(file), config=str(folder), local_files_only=True, safety_checker=None,
                                                        torch_dtype=torch.float32)
        for part in ("unet", "vae", "text_encoder"):
            a, b = getattr(wanted, part).state_dict(), getattr(made, part).state_dict()
            assert a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a), (name, part)
        same = torch.equal(draw(wanted), draw(made))
        print(name, len(tensors), "tensors", file.stat().st_size, "bytes; the reference's latents of file and folder are",
              "the same bits" if same else "different")
        assert same


if __name__ == "__main__":
    sys.exit(main())
