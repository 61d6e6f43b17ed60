// The config.json of a SANA transformer (SanaTransformer2DModel of diffusers 0.39.0).
#pragma once

#include <optional>

#include "core/files/config.h"

namespace hearth::models::sana {

struct TransformerConfig {
  int64_t in_channels = 32, out_channels = 32;      // of latents
  int64_t patch = 1;                                // patch_size: latent pixels per token, each way
  int64_t layers = 20, heads = 70, head_size = 32;  // of the self-attention: num_attention_heads, attention_head_dim
  int64_t cross_heads = 20, cross_head_size = 112;  // num_cross_attention_heads, cross_attention_head_dim
  int64_t text_width = 2304;                        // caption_channels: of the text states
  double mlp_ratio = 2.5;                           // channels inside the gated convolutions, in widths
  bool attention_bias = false;                      // of queries, keys and values of the self-attention
  bool norm_affine = false;                         // norm_elementwise_affine: the norm of the gated convolution has weights
  float eps = 1e-6f;                                // norm_eps
  int64_t sample_size = 32;                         // side of the training latents
  std::optional<double> interpolation_scale = {};   // of sine positions; without it there are none
  bool guidance_embedding = false;                  // guidance_embeds
  float guidance_scale = 0.1f;                      // guidance_embeds_scale: of the guidance scale that the network receives
  bool qk_norm = false;                             // queries and keys are RMS-normalized across all heads
  float timestep_scale = 1;                         // of the timestep that the network receives

  int64_t width() const { return heads * head_size; }
  // The second half of the output is a variance, which no sampler uses.
  bool learns_variance() const { return out_channels == 2 * in_channels; }
  int64_t hidden() const { return int64_t(mlp_ratio * double(width())); }

  // Reads every key. UnsupportedError names a key whose value would change the result and is not supported; WeightError names one that
  // contradicts another.
  static TransformerConfig from(const Config& config);

  bool operator==(const TransformerConfig&) const = default;
};

// The keys that the transformer and its control networks have in common; `layers`: the default of num_layers. Errors as above.
TransformerConfig read_sizes(const Config& config, int64_t layers);

}  // namespace hearth::models::sana
