// The config.json of an AutoencoderTiny.
#pragma once

#include <vector>

#include "core/backend.h"
#include "core/files/config.h"

namespace hearth::parts {

// The defaults below are those of the published networks for Stable Diffusion 1.x, 2.x and XL, and of the reference. TAESD3 and TAEF1
// have 16 latent channels.
struct AutoencoderTinyConfig {
  int64_t in_channels = 3, out_channels = 3;  // of images
  int64_t latent_channels = 4;
  int64_t encoder_channels = 64, decoder_channels = 64;  // *_block_out_channels: equal for all levels
  std::vector<int64_t> encoder_blocks{1, 3, 3, 3};       // num_encoder_blocks: residual blocks of each level, the image's first
  std::vector<int64_t> decoder_blocks{3, 3, 3, 1};       // num_decoder_blocks: of each level, the latents' first
  Activation activation = Activation::relu;              // act_fn; the activation after a residual sum is always ReLU
  int64_t upsampling = 2;                                // upsampling_scaling_factor: of each level of the decoder, each way
  float scaling_factor = 1, shift_factor = 0;            // latent of the diffusion model = (latent − shift) · scaling

  int64_t factor() const;  // image pixels per latent pixel, each way, of the decoder

  // Reads every key. UnsupportedError names a key whose value would change the result and is not supported; WeightError names one that
  // contradicts another.
  static AutoencoderTinyConfig from(const Config& config);

  bool operator==(const AutoencoderTinyConfig&) const = default;
};

}  // namespace hearth::parts
