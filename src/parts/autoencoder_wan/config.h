// The config.json of an AutoencoderKLQwenImage, the network of Wan 2.1's autoencoder.
#pragma once

#include <vector>

#include "core/files/config.h"

namespace hearth::parts {

struct AutoencoderWanConfig {
  int64_t image_channels = 3;
  int64_t latent_channels = 16;
  int64_t base = 96;                                      // channels at the image's resolution
  std::vector<int64_t> multipliers = {1, 2, 4, 4};        // of `base`, one per level; level 0 has the image's resolution
  int64_t layers = 2;                                     // residual blocks per level of the encoder; the decoder has one more
  std::vector<bool> halves_frames = {false, true, true};  // per halving of the resolution; of many frames only
  std::vector<float> latents_mean, latents_std;           // per latent channel: the model's latents are (z − mean) / std

  int64_t factor() const { return int64_t(1) << (multipliers.size() - 1); }  // image pixels per latent pixel, each way

  // Reads every key. UnsupportedError names a key whose value would change the result and is not supported; WeightError names one that
  // contradicts another.
  static AutoencoderWanConfig from(const Config& config);

  bool operator==(const AutoencoderWanConfig&) const = default;
};

}  // namespace hearth::parts
