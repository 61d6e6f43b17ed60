// The three networks of Stable Diffusion 1.x, loaded.
#pragma once

#include <vector>

#include "models/registry.h"
#include "models/sd1/config.h"
#include "parts/autoencoder_kl/autoencoder_kl.h"
#include "parts/clip/clip_text.h"
#include "parts/unet/unet.h"

namespace hearth::models::sd1 {

struct Networks {
  parts::ClipTextModel text;
  parts::Unet unet;
  parts::AutoencoderKl vae;
  std::vector<ComponentReport> reports;  // in this order

  // Loads the three components on a device; on one that does not compute, only their headers are read. WeightError that lists
  // every missing, misshapen, non-finite and unread tensor of the first component that has any.
  static Networks load(const Checkpoint& checkpoint, const Sd1Config& config, Backend& device, const LoadRequest& request);
};

// For Entry::check.
std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant);

}  // namespace hearth::models::sd1
