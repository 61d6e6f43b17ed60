// SANA in checkpoint files: the authors' transformer, alone or with the other components, and files of one component.
#include "models/sana/files.h"

#include "models/language_encoder/files.h"
#include "models/sana/autoencoder_files.h"
#include "models/sana/controlnet_files.h"
#include "models/sana/transformer_files.h"
#include "models/slots.h"

namespace hearth::models::sana {
namespace {

constexpr std::string_view encoder_prefix = "text_encoders.gemma2_2b.transformer.";

std::vector<NetworkPlace> places() {
  std::vector<NetworkPlace> all;
  for (const char* prefix : {"model.diffusion_model.", "diffusion_model.", "transformer.", ""})
    all.push_back({prefix, &transformer_files, &slots::transformer});
  for (const char* prefix : {"vae.", "first_stage_model.", ""}) all.push_back({prefix, &autoencoder_files, &slots::vae});
  for (const std::string_view prefix : {encoder_prefix, std::string_view()})
    all.push_back({prefix, &language_encoder::files, &slots::text_encoder});
  return all;
}

std::vector<Signature> signatures() {
  std::vector<Signature> all = transformer_signatures();
  all.push_back(control_signature());
  const Signature official{
      .part = "autoencoder",
      .what = "deep compression autoencoder (SANA)",
      .layout = "diffusers",
      .prefixes = {"", "vae."},
      .present = {{"encoder.down_blocks.0.0.conv1.weight", {}}, {"decoder.up_blocks.0.0.conv.weight", {}}, {"decoder.norm_out.weight", {}}},
      .absent = {}};
  Signature original = official;
  original.layout = "original", original.prefixes = {"", "vae.", "first_stage_model."};
  original.present = {{"encoder.project_in.conv.weight", {}},
                      {"decoder.stages.0.op_list.0.main.conv.conv.weight", {}},
                      {"decoder.project_out.op_list.0.weight", {}}};
  all.push_back(official), all.push_back(std::move(original));
  return all;
}

}  // namespace

const ImageFiles files{
    .slots = {&slots::transformer, &slots::vae, &slots::text_encoder},
    .places = places(),
    .leftovers = {"*scaled_fp8", "text_encoders.*.logit_scale"},
    .written = {{&slots::transformer, &transformer_files, "original", "model.diffusion_model."},
                {&slots::vae, &autoencoder_files, "diffusers", "vae."},
                {&slots::text_encoder, &language_encoder::files, "transformers", encoder_prefix}},
    .signatures = signatures,
    .gguf_architecture = "sana",
};

}  // namespace hearth::models::sana
