// The configurations of a SigLIP vision tower and of an embedder of its states.
#pragma once

#include "core/backend.h"
#include "core/files/config.h"

namespace hearth::parts {

// The config.json of a SiglipVisionModel; the defaults are the reference's.
struct SiglipVisionConfig {
  int64_t channels = 3;                  // num_channels, of images
  int64_t image_size = 224, patch = 16;  // sides in pixels; the last image_size % patch pixels are not read
  int64_t width = 768, layers = 12, heads = 12, mlp_width = 3072;
  Activation activation = Activation::gelu_tanh;
  float eps = 1e-6f;  // layer_norm_eps

  int64_t grid() const { return image_size / patch; }  // patches per side
  int64_t tokens() const { return grid() * grid(); }

  // Reads every key, also those of a whole SiglipModel, whose vision tower is in `vision_config`. UnsupportedError names a key whose value
  // would change the result and is not supported, WeightError one that contradicts another.
  static SiglipVisionConfig from(const Config& config);

  bool operator==(const SiglipVisionConfig&) const = default;
};

// The config.json of a ReduxImageEncoder; the defaults are the reference's.
struct ReduxConfig {
  int64_t in = 1152, out = 4096;  // redux_dim, txt_in_features: widths of image states and of text states

  static ReduxConfig from(const Config& config);  // errors as above

  bool operator==(const ReduxConfig&) const = default;
};

}  // namespace hearth::parts
