// Stable Diffusion 2.x in checkpoint files: CompVis' layout, with OpenCLIP's own names.
#include "models/sd2/files.h"

#include <cmath>

#include "models/ldm_files.h"
#include "models/slots.h"
#include "parts/clip/files.h"
#include "parts/unet/files.h"
#include "weights/stored_numbers.h"

namespace hearth::models::sd2 {
namespace {

std::vector<Signature> signatures() {
  std::vector<Signature> all = parts::unet_signatures("Stable Diffusion 2.x UNet", {.width = 320, .context = 1024});
  for (Signature& s : ldm_autoencoder_signatures()) all.push_back(std::move(s));
  const std::string encoder = "OpenCLIP ViT-H/14 text encoder (Stable Diffusion 2.x)";
  const parts::ClipKind kind{.width = 1024, .layers = 23, .unused = 1};
  all.push_back(parts::clip_signature(encoder, kind, {""}));
  all.push_back(parts::open_clip_signature(encoder, kind, {"", "cond_stage_model.model."}));
  return all;
}

bool is_open_clip(const Config& config) { return config.text("hidden_act", "quick_gelu") == "gelu"; }

double deviation(const std::vector<double>& values) {
  double mean = 0, squares = 0;
  for (const double v : values) mean += v / double(values.size());
  for (const double v : values) squares += (v - mean) * (v - mean);
  return values.size() < 2 ? 0 : std::sqrt(squares / double(values.size() - 1));
}

// 2.1 and 2.1-base have tensors of the same names and shapes. Like ComfyUI, this uses the standard deviation of one bias.
std::optional<std::string_view> guess_prediction(const TensorSource& unet) {
  const std::string bias = "up_blocks.3.attentions.2.transformer_blocks.0.norm1.bias";
  constexpr double least_of_v = 0.09;
  if (!unet.has(bias)) return std::nullopt;
  return deviation(stored_numbers(unet, bias)) > least_of_v ? "v_prediction" : "epsilon";
}

}  // namespace

const ImageFiles files{
    .slots = {&slots::unet, &slots::vae, &slots::text_encoder, &slots::image_encoder},
    .places = ldm_places({{"cond_stage_model.model.", &parts::clip_files, &slots::text_encoder}}),
    .leftovers = ldm_leftovers(),
    .predictions = ldm_predictions(),
    .markers = ldm_markers(),
    .vocabularies = clip_vocabularies({"tokenizer"}),
    .written = ldm_written({{&slots::text_encoder, &parts::clip_files, "open_clip", "cond_stage_model.model.", is_open_clip}}),
    .signatures = signatures,
    .gguf_architecture = "sd1",
    .guess_prediction = guess_prediction,
};

}  // namespace hearth::models::sd2
