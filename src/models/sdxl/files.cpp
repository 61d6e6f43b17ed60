// Stable Diffusion XL and related models in checkpoint files: Stability's layout, the first text encoder under transformers' names, the
// second under OpenCLIP's.
#include "models/sdxl/files.h"

#include "models/ldm_files.h"
#include "models/slots.h"
#include "parts/clip/files.h"
#include "parts/unet/files.h"

namespace hearth::models::sdxl {
namespace {

std::vector<Signature> signatures() {
  std::vector<Signature> all =
      parts::unet_signatures("SDXL UNet", {.width = 320, .context = 2048, .label = 2816, .attends_at_once = false});
  for (Signature& s : ldm_autoencoder_signatures()) all.push_back(std::move(s));
  all.push_back(clip_l_signature());
  for (Signature& s : big_g_signatures()) all.push_back(std::move(s));
  return all;
}

}  // namespace

const ImageFiles files{
    .slots = {&slots::unet, &slots::vae, &slots::text_encoder, &slots::text_encoder_2, &slots::image_encoder},
    .places = ldm_places({{"conditioner.embedders.0.transformer.", &parts::clip_files, &slots::text_encoder},
                          {"conditioner.embedders.1.model.", &parts::clip_files, &slots::text_encoder_2},
                          {"conditioner.embedders.1.transformer.", &parts::clip_files, &slots::text_encoder_2},
                          {"text_encoders.clip_l.transformer.", &parts::clip_files, &slots::text_encoder},
                          {"text_encoders.clip_g.transformer.", &parts::clip_files, &slots::text_encoder_2}}),
    .leftovers = ldm_leftovers(),
    .predictions = ldm_predictions(),
    .markers = ldm_markers(),
    .vocabularies = clip_vocabularies({"tokenizer", "tokenizer_2"}),
    .written = ldm_written({{&slots::text_encoder, &parts::clip_files, "transformers", "conditioner.embedders.0.transformer."},
                            {&slots::text_encoder_2, &parts::clip_files, "open_clip", "conditioner.embedders.1.model."}}),
    .signatures = signatures,
    .gguf_architecture = "sdxl",
};

}  // namespace hearth::models::sdxl
