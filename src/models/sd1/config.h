// Everything that a Stable Diffusion 1.x folder says beside its weights.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "parts/autoencoder_kl/config.h"
#include "parts/clip/config.h"
#include "parts/unet/config.h"
#include "sampling/scheduler_config.h"
#include "text/clip_tokenizer.h"
#include "weights/checkpoint.h"

namespace hearth::models::sd1 {

struct Sd1Config {
  text::ClipTokenizer tokenizer;
  parts::ClipTextConfig text;
  parts::UnetConfig unet;
  parts::AutoencoderKlConfig vae;
  sampling::SchedulerConfig scheduler;           // as the reference pipeline changes it on loading
  std::optional<std::array<int64_t, 2>> native;  // [height, width] in pixels
  std::vector<std::string> notes;                // what was left aside or changed, one line each

  // Reads and checks model_index.json, the tokenizer and every config. UnsupportedError names a class, component or key that is
  // not built; WeightError what does not fit together, as check() says.
  static Sd1Config from(const Checkpoint& checkpoint);

  // WeightError unless the parts fit each other: vocabulary and embedding, prompt length and positions, text width and
  // cross-attention, latent channels of UNet and autoencoder. UnsupportedError for an inpainting or image-editing UNet.
  void check(const std::string& where) const;
};

}  // namespace hearth::models::sd1
