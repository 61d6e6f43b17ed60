// Stable Diffusion 1.x in checkpoint files: CompVis' layout, with OpenAI's CLIP under transformers' names.
#include "models/sd1/files.h"

#include "models/ldm_files.h"
#include "models/slots.h"
#include "parts/clip/files.h"
#include "parts/unet/files.h"

namespace hearth::models::sd1 {
namespace {

std::vector<Signature> signatures() {
  std::vector<Signature> all = parts::unet_signatures("Stable Diffusion 1.x UNet", {.width = 320, .context = 768});
  for (Signature& s : ldm_autoencoder_signatures()) all.push_back(std::move(s));
  all.push_back(clip_l_signature());
  return all;
}

// OpenAI's CLIP has quick GELU; encoders with exact GELU are OpenCLIP's.
bool is_openai(const Config& config) { return config.text("hidden_act", "quick_gelu") != "gelu"; }

}  // namespace

const ImageFiles files{
    .slots = {&slots::unet, &slots::vae, &slots::text_encoder, &slots::image_encoder},
    .places = ldm_places({{"cond_stage_model.transformer.", &parts::clip_files, &slots::text_encoder},
                          {"text_encoders.clip_l.transformer.", &parts::clip_files, &slots::text_encoder}}),
    .leftovers = ldm_leftovers(),
    .predictions = ldm_predictions(),
    .markers = ldm_markers(),
    .vocabularies = clip_vocabularies({"tokenizer"}),
    .written = ldm_written({{&slots::text_encoder, &parts::clip_files, "transformers", "cond_stage_model.transformer.", is_openai}}),
    .signatures = signatures,
    .gguf_architecture = "sd1",
};

}  // namespace hearth::models::sd1
