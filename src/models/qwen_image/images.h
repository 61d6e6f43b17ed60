// Reference images of Qwen-Image-Edit: their sizes, and their preparation for the vision tower.
#pragma once

#include <array>

#include "core/files/config.h"
#include "media/editing/resample.h"
#include "parts/qwen_vision/config.h"

namespace hearth::models::qwen_image {

// [height, width] of about this area, multiples of 32, with an image's ratio of sides: diffusers' calculate_dimensions.
std::array<int64_t, 2> size_of_area(double area, int64_t height, int64_t width);
// The same of the area in which images are encoded, a megapixel.
std::array<int64_t, 2> size_of_reference(int64_t height, int64_t width);

// A preprocessor_config.json, after transformers' Qwen2VLImageProcessor, 4.57.1; the defaults are the reference's.
struct ImagePreparation {
  int64_t least_pixels = 56 * 56, most_pixels = 28 * 28 * 1280;
  int64_t unit = 28;  // sides are multiples of it: those of the squares of patches that the tower merges
  std::array<float, 3> mean{0.48145466f, 0.4578275f, 0.40821073f}, deviation{0.26862954f, 0.26130258f, 0.27577711f};

  // Reads every key. UnsupportedError names one that would change the result and is not supported; WeightError one that is malformed, or
  // does not match the tower.
  static ImagePreparation from(const Config& config, const parts::QwenVisionConfig& tower);

  // [height, width] of an image in the model's eyes (smart_resize). UsageError if one side is more than 200 times the other.
  std::array<int64_t, 2> size_of(int64_t height, int64_t width) const;
  Pixels resized(const Pixels& image) const;                    // to that size, by Pillow's bicubic filter
  Tensor normalized(const Pixels& image, Backend& host) const;  // (pixel / 255 − mean) / deviation: [H, W, 3] on a host
};

}  // namespace hearth::models::qwen_image
