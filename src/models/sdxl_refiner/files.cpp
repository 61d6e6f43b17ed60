// The refiner in checkpoint files: Stability's layout; its only text encoder has the name of the base's second one.
#include "models/sdxl_refiner/files.h"

#include "models/ldm_files.h"
#include "models/slots.h"
#include "parts/clip/files.h"
#include "parts/unet/files.h"

namespace hearth::models::sdxl_refiner {
namespace {

std::vector<Signature> signatures() {
  std::vector<Signature> all =
      parts::unet_signatures("SDXL refiner UNet", {.width = 384, .context = 1280, .label = 2560, .attends_at_once = false});
  for (Signature& s : ldm_autoencoder_signatures()) all.push_back(std::move(s));
  for (Signature& s : big_g_signatures()) all.push_back(std::move(s));
  return all;
}

}  // namespace

const ImageFiles files{
    .slots = {&slots::unet, &slots::vae, &slots::text_encoder_2, &slots::image_encoder},
    .places = ldm_places({{"conditioner.embedders.0.model.", &parts::clip_files, &slots::text_encoder_2}}),
    .leftovers = ldm_leftovers(),
    .predictions = ldm_predictions(),
    .markers = ldm_markers(),
    .vocabularies = clip_vocabularies({"tokenizer_2"}),
    .written = ldm_written({{&slots::text_encoder_2, &parts::clip_files, "open_clip", "conditioner.embedders.0.model."}}),
    .signatures = signatures,
    .gguf_architecture = "sdxl",
};

}  // namespace hearth::models::sdxl_refiner
