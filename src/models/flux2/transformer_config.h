// Configuration of FLUX.2's transformer: transformer/config.json.
#pragma once

#include <vector>

#include "core/files/config.h"

namespace hearth::models::flux2 {

struct TransformerConfig {
  int64_t in_channels = 128, out_channels = 128;  // of a token
  int64_t layers = 8, single_layers = 48;
  int64_t heads = 48, head_size = 128;
  int64_t text = 15360;    // width of the text states
  int64_t sinusoid = 256;  // of timestep and guidance
  double mlp_ratio = 3;    // of the MLP's inner width and the network's
  bool guidance = true;    // the network receives the guidance scale
  double theta = 2000, eps = 1e-6;
  std::vector<int64_t> axes = {32, 32, 32, 32};  // values of a head that each of the four axes of a position rotates
  int64_t width() const { return heads * head_size; }
  int64_t mlp_width() const { return int64_t(double(width()) * mlp_ratio); }

  // UnsupportedError names a key or value that is not supported; WeightError one that is malformed or contradicts another.
  static TransformerConfig from(const Config& config);

  friend bool operator==(const TransformerConfig&, const TransformerConfig&) = default;
};

}  // namespace hearth::models::flux2
