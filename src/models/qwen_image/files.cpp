// Qwen-Image in checkpoint files: transformer, autoencoder and text encoder under diffusers' and transformers' names, each in a file of its
// own, and ComfyUI's files with everything.
#include "models/qwen_image/files.h"

#include "models/language_encoder/files.h"
#include "models/qwen_image/transformer_files.h"
#include "models/slots.h"
#include "parts/autoencoder_wan/files.h"
#include "parts/qwen_vision/files.h"

namespace hearth::models::qwen_image {
namespace {

constexpr std::string_view encoder_prefix = "text_encoders.qwen25_7b.transformer.";

std::vector<NetworkPlace> places() {
  std::vector<NetworkPlace> all;
  for (const char* prefix : {"model.diffusion_model.", "diffusion_model.", "transformer.", ""})
    all.push_back({prefix, &transformer_files, &slots::transformer});
  for (const char* prefix : {"vae.", "first_stage_model.", ""}) all.push_back({prefix, &parts::autoencoder_wan_files, &slots::vae});
  for (const std::string_view prefix : {encoder_prefix, std::string_view()})
    all.push_back({prefix, &language_encoder::files, &slots::text_encoder});
  all.push_back({"", &parts::qwen_vision_files, &slots::image_encoder});
  return all;
}

}  // namespace

const ImageFiles files{
    .slots = {&slots::transformer, &slots::vae, &slots::text_encoder, &slots::image_encoder},
    .places = places(),
    .leftovers = {"*scaled_fp8", "text_encoders.*.logit_scale"},
    .written = {{&slots::transformer, &transformer_files, "diffusers", "model.diffusion_model."},
                {&slots::vae, &parts::autoencoder_wan_files, "original", "vae."},
                {&slots::text_encoder, &language_encoder::files, "transformers", encoder_prefix}},
    .signatures = transformer_signatures,
    .gguf_architecture = "qwen_image",
};

}  // namespace hearth::models::qwen_image
