// Families and helpers that hearth names and does not run: their files' structure, after architectures of the published checkpoints.
#include "weights/signatures_known.h"

#include <algorithm>
#include <array>

namespace hearth {
namespace {

struct Known {
  std::string_view part, what, layout;
  std::array<std::string_view, 3> present;  // empty: no more
  std::string_view absent;                  // empty: nothing
};

constexpr std::array<Known, 42> known{{
    {"denoiser", "Stable Video Diffusion", "original", {"input_blocks.1.0.time_stack.in_layers.0.weight", "label_emb.0.0.weight"}, ""},
    {"denoiser", "Stable Diffusion ×4 upscaler UNet", "original", {"label_emb.weight", "input_blocks.0.0.weight"}, ""},
    {"denoiser", "Stable Cascade, stage C", "original", {"clip_txt_mapper.weight", "clip_img_mapper.weight"}, ""},
    {"denoiser",
     "Stable Cascade, stage B",
     "original",
     {"down_blocks.1.0.channelwise.0.weight", "effnet_mapper.0.weight"},
     "clip_txt_mapper.weight"},
    {"denoiser", "FLUX.2", "original", {"single_stream_modulation.lin.weight", "img_in.weight"}, ""},
    {"denoiser", "Chroma", "original", {"distilled_guidance_layer.in_proj.bias", "double_blocks.0.img_attn.qkv.weight"}, ""},
    {"denoiser", "AuraFlow", "original", {"double_layers.0.attn.w2q.weight", "cond_seq_linear.weight"}, ""},
    {"denoiser",
     "PixArt",
     "original",
     {"blocks.0.cross_attn.kv_linear.weight", "y_embedder.y_proj.fc1.weight", "t_block.1.weight"},
     "blocks.0.mlp.inverted_conv.conv.weight"},
    {"denoiser", "SANA", "original", {"blocks.0.mlp.inverted_conv.conv.weight", "blocks.0.cross_attn.kv_linear.weight"}, ""},
    {"denoiser", "Hunyuan-DiT", "original", {"blocks.0.attn1.Wqkv.weight", "x_embedder.proj.weight"}, ""},
    {"denoiser", "Z-Image", "original", {"cap_embedder.0.weight", "layers.0.attention.qkv.weight", "x_pad_token"}, ""},
    {"denoiser", "Lumina 2", "original", {"cap_embedder.0.weight", "layers.0.attention.qkv.weight"}, "x_pad_token"},
    {"denoiser", "Qwen-Image", "diffusers", {"transformer_blocks.0.img_mod.1.weight", "txt_norm.weight"}, ""},
    {"denoiser", "HiDream", "original", {"double_stream_blocks.0.block.adaLN_modulation.1.bias"}, ""},
    {"denoiser",
     "LTX-Video",
     "original",
     {"patchify_proj.weight", "transformer_blocks.27.scale_shift_table"},
     "av_ca_a2v_gate_adaln_single.emb.timestep_embedder.linear_1.weight"},
    {"denoiser", "LTX-2", "original", {"patchify_proj.weight", "av_ca_a2v_gate_adaln_single.emb.timestep_embedder.linear_1.weight"}, ""},
    {"denoiser", "Mochi", "original", {"blocks.0.attn.qkv_x.weight", "t5_yproj.weight"}, ""},
    {"denoiser",
     "HunyuanVideo",
     "original",
     {"txt_in.individual_token_refiner.blocks.0.adaLN_modulation.1.bias", "double_blocks.0.img_attn_qkv.weight"},
     ""},
    {"denoiser",
     "Wan",
     "original",
     {"head.modulation", "blocks.0.self_attn.q.weight", "patch_embedding.weight"},
     "vace_blocks.0.after_proj.bias"},
    {"denoiser", "Wan VACE", "original", {"head.modulation", "blocks.0.self_attn.q.weight", "vace_blocks.0.after_proj.bias"}, ""},
    {"denoiser", "Cosmos", "original", {"x_embedder.proj.1.weight", "t_embedder.1.linear_1.weight"}, ""},
    {"denoiser",
     "FLUX.1",
     "diffusers",
     {"single_transformer_blocks.0.proj_mlp.weight", "transformer_blocks.0.ff_context.net.0.proj.weight", "x_embedder.weight"},
     ""},
    {"denoiser",
     "Stable Diffusion 3",
     "diffusers",
     {"pos_embed.proj.weight", "transformer_blocks.0.norm1_context.linear.weight", "context_embedder.weight"},
     "single_transformer_blocks.0.proj_mlp.weight"},
    {"autoencoder",
     "Wan or Qwen-Image VAE",
     "original",
     {"decoder.middle.0.residual.0.gamma", "encoder.downsamples.0.residual.0.gamma"},
     ""},
    {"autoencoder", "TAESD", "diffusers", {"encoder.layers.0.weight", "decoder.layers.0.weight"}, ""},
    {"autoencoder", "TAESD's decoder", "original", {"1.weight", "3.conv.0.weight", "3.conv.4.weight"}, ""},
    {"autoencoder", "TAESD's encoder", "original", {"0.weight", "1.conv.0.weight", "3.conv.4.weight"}, "1.weight"},
    {"text encoder",
     "T5 encoder",
     "diffusers",
     {"encoder.block.0.layer.0.SelfAttention.q.weight", "shared.weight", "encoder.final_layer_norm.weight"},
     ""},
    {"control", "ControlNet", "original", {"input_hint_block.0.weight", "zero_convs.0.0.weight"}, ""},
    {"control", "ControlNet", "diffusers", {"controlnet_cond_embedding.conv_in.weight", "controlnet_down_blocks.0.weight"}, ""},
    {"control", "ControlNet of a transformer", "diffusers", {"controlnet_blocks.0.weight", "transformer_blocks.0.attn.to_q.weight"}, ""},
    {"control", "T2I-Adapter", "original", {"body.0.block1.weight", "conv_in.weight", "body.3.block2.weight"}, ""},
    {"control", "IP-Adapter", "original", {"ip_adapter.1.to_k_ip.weight", "ip_adapter.1.to_v_ip.weight"}, ""},
    {"motion module",
     "AnimateDiff",
     "original",
     {"down_blocks.0.motion_modules.0.temporal_transformer.norm.weight", "up_blocks.1.motion_modules.0.temporal_transformer.norm.weight"},
     ""},
    {"upscaler", "ESRGAN", "original", {"model.0.weight", "model.1.sub.0.RDB1.conv1.0.weight"}, ""},
    {"upscaler", "ESRGAN", "original", {"conv_first.weight", "body.0.rdb1.conv1.weight", "conv_last.weight"}, ""},
    {"embedding", "textual inversion", "original", {"emb_params"}, ""},
    {"embedding", "textual inversion", "original", {"string_to_param.*"}, ""},
    {"embedding", "textual inversion for two encoders", "original", {"text_encoders_0", "text_encoders_1"}, ""},
    {"embedding", "textual inversion for two encoders", "original", {"clip_l", "clip_g"}, ""},
    {"language model", "LLaMA or its kin", "diffusers", {"model.embed_tokens.weight", "model.layers.0.self_attn.q_proj.weight"}, ""},
    {"vision tower",
     "CLIP vision tower",
     "diffusers",
     {"vision_model.embeddings.patch_embedding.weight", "vision_model.post_layernorm.weight"},
     ""},
}};

constexpr std::array<std::string_view, 9> prefixes{
    "",     "model.diffusion_model.",          "net.", "control_model.", "transformer.", "model.", "first_stage_model.",
    "vae.", "text_encoders.t5xxl.transformer."};

// Adapters are told by what their names end in; the layers are those of any model.
struct Adapter {
  std::string_view what, end, other;
};
constexpr std::array<Adapter, 6> adapters{{
    {"LoRA", ".lora_down.weight", ".lora_up.weight"},
    {"LoRA", ".lora_A.weight", ".lora_B.weight"},
    {"LoRA", ".lora.down.weight", ".lora.up.weight"},
    {"LoRA", "_lora.down.weight", "_lora.up.weight"},
    {"LoHa", ".hada_w1_a", ".hada_w2_b"},
    {"LoKr", ".lokr_w1", ".lokr_w2"},
}};

}  // namespace

std::vector<Recognised> recognise_known(const std::map<std::string, TensorInfo>& tensors) {
  std::vector<Recognised> found;
  for (const Known& k : known)
    for (const std::string_view prefix : prefixes) {
      const auto there = [&](std::string_view name) { return tensors.contains(std::string(prefix) + std::string(name)); };
      const bool complete = std::ranges::all_of(k.present, [&](std::string_view name) { return name.empty() || there(name); });
      if (complete && (k.absent.empty() || !there(k.absent)))
        found.push_back({std::string(k.part), std::string(k.what), std::string(k.layout), std::string(prefix)});
    }
  // diffusers' textual inversion: one tensor, named as its token, as wide as a CLIP text encoder.
  if (tensors.size() == 1 && found.empty()) {
    const Shape& shape = tensors.begin()->second.shape;
    const bool vectors = (shape.rank() == 1 || shape.rank() == 2) && tensors.begin()->second.unreadable.empty();
    const int64_t width = vectors ? shape[shape.rank() - 1] : 0;
    if (width == 768 || width == 1024 || width == 1280)
      found.push_back({"embedding", "textual inversion, '" + tensors.begin()->first + "'", "diffusers", ""});
  }
  for (const Adapter& a : adapters) {
    const auto any = [&](std::string_view end) {
      return std::ranges::any_of(tensors, [&](const auto& t) { return t.first.ends_with(end); });
    };
    if (any(a.end) && any(a.other)) found.push_back({"adapter", std::string(a.what), "original", ""});
  }
  return found;
}

}  // namespace hearth
