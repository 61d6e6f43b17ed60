// The config.json of a CLIP vision tower.
#pragma once

#include "core/backend.h"
#include "core/files/config.h"

namespace hearth::parts {

// The defaults are the reference's.
struct ClipVisionConfig {
  int64_t channels = 3;                  // num_channels, of images
  int64_t image_size = 224, patch = 32;  // sides in pixels; the last image_size % patch pixels are not read
  int64_t width = 768, layers = 12, heads = 12, mlp_width = 3072;
  Activation activation = Activation::quick_gelu;
  float eps = 1e-5f;         // layer_norm_eps
  int64_t projection = 512;  // projection_dim: width of visual_projection; 0: none (CLIPVisionModel)

  int64_t grid() const { return image_size / patch; }     // patches per side
  int64_t tokens() const { return grid() * grid() + 1; }  // patches, and the class token before them

  // Reads every key, also those of a whole CLIPModel, whose vision tower is in `vision_config`. The class (CLIPVisionModel, or
  // CLIPVisionModelWithProjection, which has a projection) is taken from `architectures`; without it there is a projection.
  // UnsupportedError names a key whose value would change the result and is not supported, WeightError one that contradicts another.
  static ClipVisionConfig from(const Config& config);

  bool operator==(const ClipVisionConfig&) const = default;
};

}  // namespace hearth::parts
