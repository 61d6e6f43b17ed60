// The config.json of a PixArt transformer (PixArtTransformer2DModel of diffusers 0.39.0; older folders state Transformer2DModel).
#pragma once

#include "core/files/config.h"

namespace hearth::models::pixart {

struct TransformerConfig {
  int64_t sample_size = 128;                        // side of the training latents
  int64_t patch = 2;                                // patch_size: latent pixels per token, each way
  int64_t in_channels = 4, out_channels = 8;        // of latents; a network that learned the variance outputs twice as many
  int64_t layers = 28, heads = 16, head_size = 72;  // num_layers, num_attention_heads, attention_head_dim
  int64_t text = 1152;         // width of the text states: caption_channels, or without a projection that of the blocks
  bool projects_text = false;  // caption_channels is stated: an MLP brings the states to the width of the blocks
  bool attention_bias = true;  // queries, keys and values have biases
  bool conditions = true;      // use_additional_conditions: the image's size is an input
  double interpolation = 2;    // interpolation_scale: positions are divided by it
  float eps = 1e-6f;           // norm_eps, of the blocks

  int64_t width() const { return heads * head_size; }
  int64_t base() const { return sample_size / patch; }  // side of the training images, in tokens
  bool learns_variance() const { return out_channels / 2 == in_channels; }

  // Reads every key. UnsupportedError names a key whose value would change the result and is not supported; WeightError names one that
  // contradicts another.
  static TransformerConfig from(const Config& config);

  bool operator==(const TransformerConfig&) const = default;
};

}  // namespace hearth::models::pixart
