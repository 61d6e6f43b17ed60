// The config.json of a Stable Diffusion 3 transformer (SD3Transformer2DModel of diffusers 0.39.0).
#pragma once

#include <vector>

#include "core/files/config.h"

namespace hearth::models::sd3 {

struct MmditConfig {
  int64_t sample_size = 128;                        // side of the training latents
  int64_t patch = 2;                                // patch_size: latent pixels per token, each way
  int64_t in_channels = 16, out_channels = 16;      // of latents
  int64_t layers = 18, heads = 18, head_size = 64;  // num_layers, num_attention_heads, attention_head_dim
  int64_t text_width = 4096;                        // joint_attention_dim: of the text states
  int64_t pooled_width = 2048;                      // pooled_projection_dim: of the pooled text
  int64_t position_side = 96;                       // pos_embed_max_size: side of the position table, in tokens
  std::vector<int64_t> dual_layers = {};            // dual_attention_layers: blocks with a second attention of the image alone, ascending
  bool qk_norm = false;                             // queries and keys are RMS-normalized

  int64_t width() const { return heads * head_size; }
  bool is_dual(int64_t layer) const;

  // Reads every key. UnsupportedError names a key whose value would change the result and is not supported; WeightError names one that
  // contradicts another.
  static MmditConfig from(const Config& config);

  bool operator==(const MmditConfig&) const = default;
};

}  // namespace hearth::models::sd3
