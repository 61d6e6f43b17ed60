// The config.json of an AuraFlow transformer (AuraFlowTransformer2DModel of diffusers 0.39.0).
#pragma once

#include "core/files/config.h"

namespace hearth::models::aura_flow {

struct TransformerConfig {
  int64_t sample_size = 64;                      // side of the training latents
  int64_t patch = 2;                             // patch_size: latent pixels per token, each way
  int64_t in_channels = 4, out_channels = 4;     // of latents
  int64_t joint_layers = 4, single_layers = 32;  // num_mmdit_layers, num_single_dit_layers
  int64_t heads = 12, head_size = 256;           // num_attention_heads, attention_head_dim
  int64_t text = 2048;                           // joint_attention_dim: width of the text states
  int64_t positions = 1024;                      // pos_embed_max_size: rows of the position table, which is a square

  int64_t width() const { return heads * head_size; }
  int64_t side() const;       // of the position table, in tokens
  int64_t mlp_width() const;  // two thirds of four times the width, rounded up to a multiple of 256

  // Reads every key. UnsupportedError names a key whose value would change the result and is not supported; WeightError names one that
  // contradicts another.
  static TransformerConfig from(const Config& config);

  bool operator==(const TransformerConfig&) const = default;
};

}  // namespace hearth::models::aura_flow
