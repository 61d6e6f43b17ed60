// The complete configuration of a Stable Diffusion checkpoint.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "models/diffusion/autoencoder.h"
#include "models/stable_diffusion/family.h"
#include "parts/unet/config.h"
#include "sampling/compat/scheduler_config.h"
#include "weights/checkpoint.h"

namespace hearth::models::stable_diffusion {

struct StableDiffusionConfig {
  const Family* family = nullptr;
  std::vector<clip::Tower> towers;
  parts::UnetConfig unet;
  diffusion::AutoencoderConfig vae;
  sampling::SchedulerConfig scheduler;           // as changed by the reference pipeline on loading
  std::optional<std::array<int64_t, 2>> native;  // [height, width] in pixels
  std::vector<std::string> notes;                // ignored or changed parts of the checkpoint, one line each
  bool zeros_for_no_negative = false;            // without a negative prompt, its states are zeros instead of the empty prompt's
  bool input_image_is_scaled = false;            // instruction editing: the UNet's input image is scaled like the latents

  // Reads and checks model_index.json, the tokenizers and every config. UnsupportedError names a class, component or key that is
  // not supported; WeightError names what does not match, as in check().
  static StableDiffusionConfig from(const Checkpoint& checkpoint, const Family& family);

  // WeightError unless the components match each other: vocabularies and embeddings, prompt lengths and positions, width of the states
  // and cross-attention, pooled text and sizes, latent channels of UNet and autoencoder.
  void check(const std::string& where) const;

  int64_t states_width() const;      // of all towers together
  diffusion::Beside beside() const;  // the UNet's inputs besides the latents, determined by its number of input channels
};

// The scheduler config as changed by the reference's pipeline of the checkpoint's class. For ImageFamily::scheduler.
sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint, const Family& family);

}  // namespace hearth::models::stable_diffusion
