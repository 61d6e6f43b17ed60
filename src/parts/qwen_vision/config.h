// The vision_config of Qwen 2.5 VL.
#pragma once

#include <vector>

#include "core/backend.h"
#include "core/files/config.h"

namespace hearth::parts {

struct QwenVisionConfig {
  int64_t layers = 32, width = 3584, mlp_width = 3420, heads = 16;
  int64_t channels = 3;                                 // of images
  int64_t patch = 14;                                   // side, in pixels
  int64_t frames = 2;                                   // of a patch
  int64_t merge = 2;                                    // side of the square of patches that becomes one row of the result
  int64_t window = 112;                                 // side, in pixels, of the squares within which most layers attend
  std::vector<int64_t> whole_layers = {7, 15, 23, 31};  // that attend to the whole image
  int64_t out = 3584;                                   // width of the result
  Activation activation = Activation::silu;

  int64_t head_size() const { return width / heads; }
  int64_t unit() const { return patch * merge; }           // sides of images are multiples of it, in pixels
  int64_t window_side() const { return window / unit(); }  // in rows of the result

  // UnsupportedError names a key or value that is not supported; WeightError one that is malformed or contradicts another.
  static QwenVisionConfig from(const Config& config);

  bool operator==(const QwenVisionConfig&) const = default;
};

}  // namespace hearth::parts
