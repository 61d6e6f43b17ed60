// Everything that the folder of a Stable Diffusion checkpoint says beside its weights.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "models/diffusion/autoencoder.h"
#include "models/stable_diffusion/family.h"
#include "parts/clip/config.h"
#include "parts/unet/config.h"
#include "sampling/compat/scheduler_config.h"
#include "text/clip/clip_tokenizer.h"
#include "weights/checkpoint.h"

namespace hearth::models::stable_diffusion {

struct StableDiffusionConfig {
  struct Tower {
    TowerNames names;
    text::ClipTokenizer tokenizer;
    parts::ClipTextConfig config;
  };

  const Family* family = nullptr;
  std::vector<Tower> towers;
  parts::UnetConfig unet;
  diffusion::AutoencoderConfig vae;
  sampling::SchedulerConfig scheduler;           // as the reference pipeline changes it on loading
  std::optional<std::array<int64_t, 2>> native;  // [height, width] in pixels
  std::vector<std::string> notes;                // what was left aside or changed, one line each
  bool zeros_for_no_negative = false;            // a negative prompt that is not given is zeros instead of the empty prompt
  bool told_image_is_scaled = false;             // of a UNet that edits as told: its image is on the latents' scale

  // Reads and checks model_index.json, the tokenizers and every config. UnsupportedError names a class, component or key that is
  // not built; WeightError what does not fit together, as check() says.
  static StableDiffusionConfig from(const Checkpoint& checkpoint, const Family& family);

  // WeightError unless the parts fit each other: vocabularies and embeddings, prompt lengths and positions, width of the states and
  // cross-attention, pooled text and sizes, latent channels of UNet and autoencoder.
  void check(const std::string& where) const;

  int64_t states_width() const;      // of all towers together
  diffusion::Beside beside() const;  // what the UNet takes beside the latents, which its number of input channels tells
};

StableDiffusionConfig::Tower tower_of(const Checkpoint& checkpoint, const TowerNames& names);

// The scheduler's file as the reference's pipeline of the checkpoint's class leaves it. For ImageFamily::scheduler.
sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint, const Family& family);

}  // namespace hearth::models::stable_diffusion
