// PixArt in checkpoint files: the authors' transformer, alone or with the other components, and files of one component.
#include "models/pixart/files.h"

#include "models/pixart/transformer_files.h"
#include "models/slots.h"
#include "parts/autoencoder_kl/files.h"
#include "parts/autoencoder_tiny/files.h"
#include "parts/t5/files.h"

namespace hearth::models::pixart {
namespace {

std::vector<NetworkPlace> places() {
  std::vector<NetworkPlace> all;
  for (const char* prefix : {"model.diffusion_model.", "diffusion_model.", "transformer.", ""})
    all.push_back({prefix, &transformer_files, &slots::transformer});
  for (const char* prefix : {"vae.", "first_stage_model.", ""})
    for (const NetworkFiles* network : {&parts::autoencoder_kl_files, &parts::autoencoder_tiny_files})
      all.push_back({prefix, network, &slots::vae});
  for (const char* prefix : {"text_encoders.t5xxl.transformer.", ""}) all.push_back({prefix, &parts::t5_files, &slots::text_encoder});
  return all;
}

std::vector<Signature> signatures() {
  const Signature original{.part = "denoiser",
                           .layout = "original",
                           .prefixes = {"", "model.diffusion_model."},
                           .present = {{"blocks.0.cross_attn.kv_linear.weight", {}},
                                       {"blocks.0.scale_shift_table", {}},
                                       {"t_block.1.weight", {}},
                                       {"y_embedder.y_proj.fc1.weight", {}}},
                           .absent = {"blocks.0.mlp.inverted_conv.conv.weight"}};
  const Signature official{.part = "denoiser",
                           .layout = "diffusers",
                           .prefixes = {""},
                           .present = {{"transformer_blocks.0.attn2.to_k.weight", {}},
                                       {"transformer_blocks.0.scale_shift_table", {}},
                                       {"adaln_single.emb.timestep_embedder.linear_1.weight", {}},
                                       {"caption_projection.linear_1.weight", {}},
                                       {"pos_embed.proj.weight", {}}},
                           .absent = {}};
  std::vector<Signature> all;
  for (const auto& [base, condition] :
       {std::pair{original, "ar_embedder.mlp.0.weight"}, {official, "adaln_single.emb.aspect_ratio_embedder.linear_1.weight"}}) {
    Signature with = base, without = base;
    with.what = "PixArt-α 1024", with.present.push_back({condition, {}});
    without.what = "PixArt-Σ, or PixArt-α 256 or 512", without.absent.push_back(condition);
    // A video network of other widths has the same names.
    if (without.layout == "diffusers") without.present.push_back({"caption_projection.linear_2.weight", {1152, 1152}});
    all.push_back(std::move(with)), all.push_back(std::move(without));
  }
  return all;
}

}  // namespace

const ImageFiles files{
    .slots = {&slots::transformer, &slots::vae, &slots::text_encoder},
    .places = places(),
    .leftovers = {"*scaled_fp8", "text_encoders.*.logit_scale"},
    .vocabularies = {{.component = "tokenizer", .folder = "t5", .files = {"spiece.model"}, .instead = "tokenizer.json"}},
    .written = {{&slots::transformer, &transformer_files, "original", "model.diffusion_model."},
                {&slots::vae, &parts::autoencoder_kl_files, "original", "first_stage_model."},
                {&slots::text_encoder, &parts::t5_files, "transformers", "text_encoders.t5xxl.transformer."}},
    .signatures = signatures,
    .gguf_architecture = "pixart",
};

}  // namespace hearth::models::pixart
