// Z-Image in checkpoint files: the authors' transformer in a file of its own, and ComfyUI's files with everything.
#include "models/z_image/files.h"

#include "models/language_encoder/files.h"
#include "models/slots.h"
#include "models/z_image/transformer_files.h"
#include "parts/autoencoder_kl/files.h"
#include "parts/autoencoder_tiny/files.h"

namespace hearth::models::z_image {
namespace {

constexpr std::string_view encoder_prefix = "text_encoders.qwen3_4b.transformer.";

std::vector<NetworkPlace> places() {
  std::vector<NetworkPlace> all;
  for (const char* prefix : {"model.diffusion_model.", "diffusion_model.", "transformer.", ""})
    all.push_back({prefix, &transformer_files, &slots::transformer});
  for (const char* prefix : {"vae.", "first_stage_model.", ""})
    for (const NetworkFiles* network : {&parts::autoencoder_kl_files, &parts::autoencoder_tiny_files})
      all.push_back({prefix, network, &slots::vae});
  for (const std::string_view prefix : {encoder_prefix, std::string_view()})
    all.push_back({prefix, &language_encoder::files, &slots::text_encoder});
  return all;
}

}  // namespace

const ImageFiles files{
    .slots = {&slots::transformer, &slots::vae, &slots::text_encoder},
    .places = places(),
    .leftovers = {"*scaled_fp8", "text_encoders.*.logit_scale"},
    .written = {{&slots::transformer, &transformer_files, "original", "model.diffusion_model."},
                {&slots::vae, &parts::autoencoder_kl_files, "original", "vae."},
                {&slots::text_encoder, &language_encoder::files, "transformers", encoder_prefix}},
    .signatures = signatures,
    .gguf_architecture = "lumina2",
};

}  // namespace hearth::models::z_image
