#include "weights/signatures.h"

#include "weights/signatures_known.h"

#include <algorithm>
#include <array>

namespace hearth {
namespace {

constexpr int64_t any = -1;

struct Needed {
  std::string_view name;
  std::vector<int64_t> shape;  // `any` where the size does not matter; no axes: the whole shape does not matter
};

struct Signature {
  std::string_view part;
  std::string what;
  std::string_view layout;
  std::vector<std::string_view> prefixes;
  std::vector<Needed> present;
  std::vector<std::string_view> absent;
};

const std::vector<std::string_view> bare{""}, denoiser_prefixes{"", "model.diffusion_model."},
    autoencoder_prefixes{"", "first_stage_model.", "vae."};

// Sources of names and sizes: the tensor lists of golden/keys and, for diffusers' names, the published configurations.
std::vector<Signature> make_signatures() {
  std::vector<Signature> all;

  // UNets with cross-attention in the two layouts: input channels tell the variants apart, context and label widths the families.
  struct Variant {
    std::string_view suffix;
    int64_t channels;
  };
  constexpr std::array<Variant, 4> variants{{{"", 4}, {", inpainting", 9}, {", InstructPix2Pix", 8}, {", depth", 5}}};
  const std::string_view boxes = "position_net.linears.0.weight";  // GLIGEN
  const auto unet = [&](std::string_view family, int64_t width, int64_t context, int64_t label, bool early_attention) {
    for (const Variant& variant : variants) {
      const std::string what = std::string(family) + std::string(variant.suffix);
      Signature original{"denoiser",
                         what,
                         "original",
                         denoiser_prefixes,
                         {{"input_blocks.0.0.weight", {width, variant.channels, 3, 3}},
                          {"middle_block.1.transformer_blocks.0.attn2.to_k.weight", {any, context}},
                          {"time_embed.0.weight", {4 * width, width}},
                          {"out.2.weight", {4, width, 3, 3}}},
                         {boxes}};
      Signature diffusers{"denoiser",
                          what,
                          "diffusers",
                          bare,
                          {{"conv_in.weight", {width, variant.channels, 3, 3}},
                           {"mid_block.attentions.0.transformer_blocks.0.attn2.to_k.weight", {any, context}},
                           {"time_embedding.linear_1.weight", {4 * width, width}},
                           {"conv_out.weight", {4, width, 3, 3}}},
                          {boxes, "transformer_in.proj_in.weight", "down_blocks.0.motion_modules.0.proj_in.weight"}};
      const Needed early{"input_blocks.1.1.proj_in.weight", {}}, early_diffusers{"down_blocks.0.attentions.0.proj_in.weight", {}};
      if (early_attention) original.present.push_back(early), diffusers.present.push_back(early_diffusers);
      else original.absent.push_back(early.name), diffusers.absent.push_back(early_diffusers.name);
      if (label) {
        original.present.push_back({"label_emb.0.0.weight", {4 * width, label}});
        diffusers.present.push_back({"add_embedding.linear_1.weight", {4 * width, label}});
      } else {
        original.absent.push_back("label_emb.0.0.weight");
        diffusers.absent.push_back("add_embedding.linear_1.weight");
        diffusers.absent.push_back("class_embedding.linear_1.weight");
      }
      all.push_back(std::move(original));
      all.push_back(std::move(diffusers));
    }
  };
  unet("Stable Diffusion 1.x UNet", 320, 768, 0, true);
  unet("Stable Diffusion 2.x UNet", 320, 1024, 0, true);
  unet("SDXL UNet", 320, 2048, 2816, false);
  unet("SDXL refiner UNet", 384, 1280, 2560, false);

  const Needed flux_norm{"double_blocks.0.img_attn.norm.key_norm.scale", {128}},
      flux_single{"single_blocks.37.linear1.weight", {any, 3072}}, flux_vector{"vector_in.in_layer.weight", {3072, 768}},
      flux_guidance{"guidance_in.in_layer.weight", {3072, 256}};
  all.push_back({"denoiser",
                 "FLUX.1 dev",
                 "original",
                 denoiser_prefixes,
                 {flux_norm, flux_single, flux_vector, flux_guidance, {"img_in.weight", {3072, 64}}},
                 {}});
  all.push_back({"denoiser",
                 "FLUX.1 Fill",
                 "original",
                 denoiser_prefixes,
                 {flux_norm, flux_single, flux_vector, flux_guidance, {"img_in.weight", {3072, 384}}},
                 {}});
  all.push_back({"denoiser",
                 "FLUX.1 schnell",
                 "original",
                 denoiser_prefixes,
                 {flux_norm, flux_single, flux_vector, {"img_in.weight", {3072, 64}}},
                 {flux_guidance.name}});

  const std::string_view dual = "joint_blocks.0.x_block.attn2.qkv.weight", norm = "joint_blocks.0.x_block.attn.ln_q.weight";
  all.push_back({"denoiser",
                 "Stable Diffusion 3 medium",
                 "original",
                 denoiser_prefixes,
                 {{"x_embedder.proj.weight", {1536, 16, 2, 2}}, {"joint_blocks.23.context_block.adaLN_modulation.1.bias", {3072}}},
                 {dual, norm, "joint_blocks.24.x_block.attn.qkv.weight"}});
  all.push_back({"denoiser",
                 "Stable Diffusion 3.5 medium",
                 "original",
                 denoiser_prefixes,
                 {{"x_embedder.proj.weight", {1536, 16, 2, 2}}, {dual, {}}, {norm, {}}, {"joint_blocks.23.x_block.attn.qkv.weight", {}}},
                 {"joint_blocks.24.x_block.attn.qkv.weight"}});
  all.push_back({"denoiser",
                 "Stable Diffusion 3.5 large",
                 "original",
                 denoiser_prefixes,
                 {{"x_embedder.proj.weight", {2432, 16, 2, 2}}, {norm, {}}, {"joint_blocks.37.x_block.attn.qkv.weight", {}}},
                 {dual, "joint_blocks.38.x_block.attn.qkv.weight"}});

  all.push_back({"autoencoder",
                 "AutoencoderKL, 4 latent channels (Stable Diffusion 1.x, 2.x, SDXL)",
                 "original",
                 autoencoder_prefixes,
                 {{"encoder.down.3.block.1.conv2.weight", {512, 512, 3, 3}},
                  {"encoder.conv_out.weight", {8, 512, 3, 3}},
                  {"quant_conv.weight", {8, 8, 1, 1}},
                  {"post_quant_conv.weight", {4, 4, 1, 1}},
                  {"decoder.conv_in.weight", {512, 4, 3, 3}},
                  {"decoder.mid.attn_1.q.weight", {512, 512, 1, 1}}},
                 {}});
  all.push_back({"autoencoder",
                 "AutoencoderKL, 4 latent channels (Stable Diffusion 1.x, 2.x, SDXL)",
                 "diffusers",
                 bare,
                 {{"encoder.down_blocks.3.resnets.1.conv2.weight", {512, 512, 3, 3}},
                  {"encoder.conv_out.weight", {8, 512, 3, 3}},
                  {"quant_conv.weight", {8, 8, 1, 1}},
                  {"post_quant_conv.weight", {4, 4, 1, 1}},
                  {"decoder.conv_in.weight", {512, 4, 3, 3}},
                  {"decoder.mid_block.attentions.0.to_q.weight", {512, 512}}},
                 {"encoder.temp_conv_in.weight", "quantize.embedding.weight", "decoder.condition_encoder.layers.0.weight"}});
  all.push_back({"autoencoder",
                 "AutoencoderKL, 16 latent channels (Stable Diffusion 3, FLUX.1)",
                 "original",
                 autoencoder_prefixes,
                 {{"encoder.down.3.block.1.conv2.weight", {512, 512, 3, 3}},
                  {"encoder.conv_out.weight", {32, 512, 3, 3}},
                  {"decoder.conv_in.weight", {512, 16, 3, 3}},
                  {"decoder.mid.attn_1.q.weight", {512, 512, 1, 1}}},
                 {}});
  all.push_back({"autoencoder",
                 "AutoencoderKL, 16 latent channels (Stable Diffusion 3, FLUX.1)",
                 "diffusers",
                 bare,
                 {{"encoder.down_blocks.3.resnets.1.conv2.weight", {512, 512, 3, 3}},
                  {"encoder.conv_out.weight", {32, 512, 3, 3}},
                  {"decoder.conv_in.weight", {512, 16, 3, 3}},
                  {"decoder.mid_block.attentions.0.to_q.weight", {512, 512}}},
                 {}});

  const auto clip = [&](const std::string& what, int64_t width, std::string_view last, std::string_view beyond,
                        std::vector<std::string_view> prefixes) {
    all.push_back({"text encoder",
                   what,
                   "transformers",
                   std::move(prefixes),
                   {{"text_model.embeddings.token_embedding.weight", {49408, width}},
                    {"text_model.embeddings.position_embedding.weight", {77, width}},
                    {last, {width}},
                    {"text_model.final_layer_norm.weight", {width}}},
                   {beyond}});
  };
  clip("CLIP ViT-L/14 text encoder (Stable Diffusion 1.x, SDXL, SD3, FLUX.1)", 768, "text_model.encoder.layers.11.layer_norm1.weight",
       "text_model.encoder.layers.12.layer_norm1.weight",
       {"", "cond_stage_model.transformer.", "conditioner.embedders.0.transformer.", "text_encoders.clip_l.transformer."});
  clip("OpenCLIP ViT-H/14 text encoder (Stable Diffusion 2.x)", 1024, "text_model.encoder.layers.22.layer_norm1.weight",
       "text_model.encoder.layers.24.layer_norm1.weight", {""});
  clip("OpenCLIP ViT-bigG/14 text encoder (SDXL, SD3)", 1280, "text_model.encoder.layers.31.layer_norm1.weight",
       "text_model.encoder.layers.32.layer_norm1.weight", {"", "text_encoders.clip_g.transformer."});
  const auto open_clip = [&](const std::string& what, int64_t width, std::string_view last, std::string_view beyond,
                             std::vector<std::string_view> prefixes) {
    all.push_back(
        {"text encoder",
         what,
         "original",
         std::move(prefixes),
         {{"token_embedding.weight", {49408, width}}, {"positional_embedding", {77, width}}, {last, {width}}, {"ln_final.weight", {width}}},
         {beyond}});
  };
  open_clip("OpenCLIP ViT-H/14 text encoder (Stable Diffusion 2.x)", 1024, "transformer.resblocks.22.ln_1.weight",
            "transformer.resblocks.24.ln_1.weight", {"", "cond_stage_model.model."});
  open_clip("OpenCLIP ViT-bigG/14 text encoder (SDXL, SD3)", 1280, "transformer.resblocks.31.ln_1.weight",
            "transformer.resblocks.32.ln_1.weight", {"", "conditioner.embedders.0.model.", "conditioner.embedders.1.model."});
  return all;
}

bool fits(const Needed& needed, const Shape& shape) {
  if (needed.shape.empty()) return true;
  return std::ranges::equal(needed.shape, shape, [](int64_t want, int64_t is) { return want == any || want == is; });
}

}  // namespace

std::vector<Recognised> recognise(const std::map<std::string, TensorInfo>& tensors) {
  static const std::vector<Signature> signatures = make_signatures();
  std::vector<Recognised> found;
  for (const Signature& s : signatures)
    for (std::string_view prefix : s.prefixes) {
      const auto at = [&](std::string_view name) { return tensors.find(std::string(prefix) + std::string(name)); };
      const bool complete =
          std::ranges::all_of(s.present, [&](const Needed& n) { return at(n.name) != tensors.end() && fits(n, at(n.name)->second.shape); });
      const bool contradicted = std::ranges::any_of(s.absent, [&](std::string_view name) { return at(name) != tensors.end(); });
      if (complete && !contradicted) found.push_back({std::string(s.part), s.what, std::string(s.layout), std::string(prefix)});
    }
  for (Recognised& other : recognise_known(tensors)) found.push_back(std::move(other));
  return found;
}

}  // namespace hearth
