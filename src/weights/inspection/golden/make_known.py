"""Tensor names of networks that hearth names and does not run, as diffusers and transformers build them: known.json.

    python make_known.py

Of repeated blocks only the first is kept, and no biases: what a structure is told by. Sizes are the classes' defaults with few layers; nothing
has weights.
"""

import json
import re
from pathlib import Path

import diffusers as d
import torch
import transformers as t

UNET = dict(cross_attention_dim=1024, use_linear_projection=True, attention_head_dim=[5, 10, 20, 20])
IF_DOWN, IF_UP = "SimpleCrossAttnDownBlock2D", "SimpleCrossAttnUpBlock2D"
FEW, TWO = dict(num_layers=2), dict(num_layers=2, num_single_layers=2)
NETWORKS = {
    "unet-svd": lambda: d.UNetSpatioTemporalConditionModel(),
    "unet-upscaler": lambda: d.UNet2DConditionModel(in_channels=7, num_class_embeds=1000, **UNET),
    "unet-unclip": lambda: d.UNet2DConditionModel(class_embed_type="projection", projection_class_embeddings_input_dim=2048, **UNET),
    "unet-if": lambda: d.UNet2DConditionModel(
        in_channels=3, out_channels=6, encoder_hid_dim=4096, encoder_hid_dim_type="text_proj", addition_embed_type="text",
        down_block_types=("ResnetDownsampleBlock2D", IF_DOWN, IF_DOWN, IF_DOWN), mid_block_type="UNetMidBlock2DSimpleCrossAttn",
        up_block_types=(IF_UP, IF_UP, IF_UP, "ResnetUpsampleBlock2D")),
    "unet-unconditional": lambda: d.UNet2DModel(),
    "unet-gligen": lambda: d.UNet2DConditionModel(cross_attention_dim=768, attention_type="gated"),
    "unet-video": lambda: d.UNet3DConditionModel(),
    "unet-i2vgen": lambda: d.I2VGenXLUNet(),
    "unet-motion": lambda: d.UNetMotionModel(cross_attention_dim=768),
    "cascade": lambda: d.StableCascadeUNet(),
    "kandinsky-prior": lambda: d.PriorTransformer(**FEW),
    "kandinsky3": lambda: d.Kandinsky3UNet(),
    "amused": lambda: d.UVit2DModel(num_hidden_layers=2),
    "flux2": lambda: d.Flux2Transformer2DModel(**TWO),
    "chroma": lambda: d.ChromaTransformer2DModel(**TWO),
    "bria": lambda: d.BriaTransformer2DModel(**TWO),
    "sd3": lambda: d.SD3Transformer2DModel(**FEW),
    "auraflow": lambda: d.AuraFlowTransformer2DModel(num_mmdit_layers=2, num_single_dit_layers=2),
    "pixart": lambda: d.PixArtTransformer2DModel(num_layers=2, caption_channels=64),
    "sana": lambda: d.SanaTransformer2DModel(**FEW),
    "hunyuan-dit": lambda: d.HunyuanDiT2DModel(in_channels=4, patch_size=2, sample_size=32, num_layers=2),
    "lumina2": lambda: d.Lumina2Transformer2DModel(**FEW),
    "z-image": lambda: d.ZImageTransformer2DModel(n_layers=2),
    "qwen-image": lambda: d.QwenImageTransformer2DModel(**FEW),
    "hidream": lambda: d.HiDreamImageTransformer2DModel(patch_size=2, num_attention_heads=2, num_layers=1, num_single_layers=1,
                                                        llama_layers=[0, 1], caption_channels=[64, 64]),
    "cogview4": lambda: d.CogView4Transformer2DModel(**FEW),
    "cogvideox": lambda: d.CogVideoXTransformer3DModel(**FEW),
    "ltx": lambda: d.LTXVideoTransformer3DModel(**FEW),
    "mochi": lambda: d.MochiTransformer3DModel(**FEW),
    "hunyuan-video": lambda: d.HunyuanVideoTransformer3DModel(**TWO),
    "wan": lambda: d.WanTransformer3DModel(**FEW),
    "wan-vace": lambda: d.WanVACETransformer3DModel(num_layers=2, vace_layers=[0], vace_in_channels=96),
    "cosmos": lambda: d.CosmosTransformer3DModel(**FEW),
    "vae-wan": lambda: d.AutoencoderKLWan(),
    "vae-vq": lambda: d.VQModel(),
    "vae-asymmetric": lambda: d.AsymmetricAutoencoderKL(),
    "vae-consistency": lambda: d.ConsistencyDecoderVAE(),
    "vae-dc": lambda: d.AutoencoderDC(latent_channels=32),
    "vae-ltx": lambda: d.AutoencoderKLLTXVideo(),
    "vae-mochi": lambda: d.AutoencoderKLMochi(),
    "vae-cogvideox": lambda: d.AutoencoderKLCogVideoX(),
    "vae-hunyuan-video": lambda: d.AutoencoderKLHunyuanVideo(),
    "vae-allegro": lambda: d.AutoencoderKLAllegro(),
    "vae-svd": lambda: d.AutoencoderKLTemporalDecoder(),
    "vae-cosmos": lambda: d.AutoencoderKLCosmos(),
    "vae-tiny": lambda: d.AutoencoderTiny(),
    "controlnet": lambda: d.ControlNetModel(cross_attention_dim=768),
    "controlnet-union": lambda: d.ControlNetUnionModel(cross_attention_dim=768, addition_time_embed_dim=256),
    "controlnet-xs": lambda: d.ControlNetXSAdapter(),
    "controlnet-flux": lambda: d.FluxControlNetModel(**TWO),
    "controlnet-sd3": lambda: d.SD3ControlNetModel(**FEW),
    "t2i": lambda: d.T2IAdapter(),
    "t2i-light": lambda: d.T2IAdapter(adapter_type="light_adapter"),
    "motion-adapter": lambda: d.MotionAdapter(),
    "safety-checker": lambda: d.pipelines.stable_diffusion.safety_checker.StableDiffusionSafetyChecker(t.CLIPConfig()),
    "clip-vision": lambda: t.CLIPVisionModelWithProjection(t.CLIPVisionConfig(num_hidden_layers=2)),
    "siglip": lambda: t.SiglipVisionModel(t.SiglipVisionConfig(num_hidden_layers=2)),
    "t5": lambda: t.T5EncoderModel(t.T5Config(num_layers=2)),
    "umt5": lambda: t.UMT5EncoderModel(t.UMT5Config(num_layers=2)),
    "bert": lambda: t.BertModel(t.BertConfig(num_hidden_layers=2)),
    "dpt": lambda: t.DPTForDepthEstimation(t.DPTConfig()),
    "llama": lambda: t.LlamaForCausalLM(t.LlamaConfig(num_hidden_layers=2)),
    "qwen3-moe": lambda: t.Qwen3MoeForCausalLM(t.Qwen3MoeConfig(num_hidden_layers=2, num_experts=2)),
    "mixtral": lambda: t.MixtralForCausalLM(t.MixtralConfig(num_hidden_layers=2, num_local_experts=2)),
    "deepseek": lambda: t.DeepseekV3ForCausalLM(t.DeepseekV3Config(num_hidden_layers=4, n_routed_experts=2)),
    "phi3": lambda: t.Phi3ForCausalLM(t.Phi3Config(num_hidden_layers=2)),
    "gpt2": lambda: t.GPT2LMHeadModel(t.GPT2Config(n_layer=2)),
    "gpt-neox": lambda: t.GPTNeoXForCausalLM(t.GPTNeoXConfig(num_hidden_layers=2)),
    "falcon": lambda: t.FalconForCausalLM(t.FalconConfig(num_hidden_layers=2)),
    "mamba": lambda: t.MambaForCausalLM(t.MambaConfig(num_hidden_layers=2)),
    "qwen2-vl": lambda: t.Qwen2VLForConditionalGeneration(t.Qwen2VLConfig(text_config=dict(num_hidden_layers=2), vision_config=dict(depth=2))),
    "whisper": lambda: t.WhisperModel(t.WhisperConfig(encoder_layers=1, decoder_layers=1)),
}
REPEATED = re.compile(r"\.(?!0\.)\d+\.(?!weight$)")


def names_of(make):
    with torch.device("meta"):
        names = list(make().state_dict())
    # T5's relations stand in the first layer alone, UMT5's in all: the second is kept for them.
    return [n for n in names if not n.endswith(".bias") and (not REPEATED.search(n) or n.endswith("relative_attention_bias.weight"))]


def main():
    known = {label: names_of(make) for label, make in NETWORKS.items()}
    lines = ",\n".join(f" {json.dumps(label)}: {json.dumps(names, separators=(',', ':'))}" for label, names in known.items())
    versions = json.dumps(dict(diffusers=d.__version__, transformers=t.__version__))
    Path(__file__).with_name("known.json").write_text(f'{{"versions": {versions}, "names": {{\n{lines}\n}}}}\n')
    print(len(known), "networks,", sum(map(len, known.values())), "names")


if __name__ == "__main__":
    main()
