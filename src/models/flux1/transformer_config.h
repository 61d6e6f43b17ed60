// The settings of FluxTransformer2DModel in transformer/config.json.
#pragma once

#include <vector>

#include "core/files/config.h"

namespace hearth::models::flux1 {

struct TransformerConfig {
  int64_t in_channels = 64, out_channels = 64;  // of a token
  int64_t layers = 19, single_layers = 38;
  int64_t heads = 24, head_size = 128;
  int64_t text = 4096, pooled = 768;         // widths of the text states and of the pooled text
  bool guidance = false;                     // the network receives the guidance scale
  std::vector<int64_t> axes = {16, 56, 56};  // values of a head that each of the three axes of a position rotates
  int64_t width() const { return heads * head_size; }

  // UnsupportedError names a key or value that is not supported; WeightError one that is malformed or contradicts another.
  static TransformerConfig from(const Config& config);
  void read_axes(const Config& config);  // after head_size; the same errors

  friend bool operator==(const TransformerConfig&, const TransformerConfig&) = default;
};

}  // namespace hearth::models::flux1
