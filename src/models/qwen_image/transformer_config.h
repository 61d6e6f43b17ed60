// The settings of QwenImageTransformer2DModel in transformer/config.json.
#pragma once

#include <vector>

#include "core/files/config.h"

namespace hearth::models::qwen_image {

struct TransformerConfig {
  int64_t in_channels = 64;      // of a token
  int64_t latent_channels = 16;  // `out_channels`: of the prediction's pixels, 2×2 of which are a token
  int64_t layers = 60;
  int64_t heads = 24, head_size = 128;
  int64_t text = 3584;                       // width of the text states
  std::vector<int64_t> axes = {16, 56, 56};  // values of a head that each of the three axes of a position rotates
  bool references_at_zero = false;           // `zero_cond_t`: tokens of reference images are modulated as at timestep 0
  int64_t width() const { return heads * head_size; }
  int64_t out_channels() const { return 4 * latent_channels; }  // of a token

  // UnsupportedError names a key or value that is not supported; WeightError one that is malformed or contradicts another.
  static TransformerConfig from(const Config& config);
  void read_axes(const Config& config);  // after head_size

  friend bool operator==(const TransformerConfig&, const TransformerConfig&) = default;
};

}  // namespace hearth::models::qwen_image
