// The config.json of a deep compression autoencoder (AutoencoderDC of diffusers 0.39.0).
#pragma once

#include <vector>

#include "core/files/config.h"
#include "core/specs.h"

namespace hearth::models::sana {

// A level of the encoder or decoder: blocks of one kind.
struct DcLevel {
  bool attention = false;                    // EfficientViTBlock, else ResBlock
  int64_t channels = 0, blocks = 0;          // blocks: 0 only in the first level, which then is the second's entrance
  std::vector<int64_t> scales = {};          // kernels of the attention's further scales
  Activation activation = Activation::silu;  // of residual blocks

  bool operator==(const DcLevel&) const = default;
};

struct AutoencoderDcConfig {
  int64_t image_channels = 3, latent_channels = 32, head_size = 32;
  std::vector<DcLevel> encoder, decoder;  // from the image's size to the smallest
  bool unshuffles = true;                 // downsample_block_type: a convolution and pixel unshuffle, else a convolution of stride 2
  bool interpolates = false;              // upsample_block_type: nearest neighbor and a convolution, else a convolution and pixel shuffle
  bool encoder_shortcut = true, decoder_shortcut = true;  // encoder_out_shortcut, decoder_in_shortcut
  Activation last_activation = Activation::relu;          // decoder_conv_act_fn
  float scaling_factor = 1;

  int64_t factor() const { return int64_t(1) << (encoder.size() - 1); }  // pixels per latent pixel, each way
  // Reads every key. UnsupportedError names a key whose value would change the result and is not supported; WeightError names one that
  // contradicts another.
  static AutoencoderDcConfig from(const Config& config);

  bool operator==(const AutoencoderDcConfig&) const = default;
};

}  // namespace hearth::models::sana
