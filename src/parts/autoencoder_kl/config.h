// The config.json of an AutoencoderKL.
#pragma once

#include <vector>

#include "core/backend.h"
#include "core/files/config.h"

namespace hearth::parts {

struct AutoencoderKlConfig {
  int64_t in_channels = 3, out_channels = 3;  // of images
  int64_t latent_channels = 4;
  std::vector<int64_t> channels;             // block_out_channels, one entry per level; level 0 has the image's resolution
  int64_t layers = 1;                        // residual blocks per level of the encoder; the decoder has one more
  Activation activation = Activation::silu;  // act_fn, of the residual blocks; the output's is always SiLU
  int64_t groups = 32;                       // norm_num_groups; eps is 1e-6 everywhere
  bool mid_attention = true;                 // mid_block_add_attention
  bool quant_conv = true, post_quant_conv = true;
  float scaling_factor = 0.18215f, shift_factor = 0;  // latent of the diffusion model = (z − shift) · scaling
  // Per latent channel; both or neither. If set, the diffusion model's latent is (z − mean) · scaling / std, and shift_factor is
  // ignored.
  std::vector<float> latents_mean, latents_std;

  int64_t sample_size = 32;  // side of the training images, which is the tile side of a tiled decode

  int64_t factor() const { return int64_t(1) << (channels.size() - 1); }  // image pixels per latent pixel, each way

  // Reads every key. UnsupportedError names a key whose value would change the result and is not supported; WeightError names
  // one that contradicts another.
  static AutoencoderKlConfig from(const Config& config);

  bool operator==(const AutoencoderKlConfig&) const = default;
};

}  // namespace hearth::parts
