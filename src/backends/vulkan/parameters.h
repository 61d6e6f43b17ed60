// Parts of the shaders' parameters that several shaders have (epilogue.glsl, windows.glsl), with the same layout.
#pragma once

#include <cstdint>

namespace hearth::vulkan {

struct EpilogueParameters {
  uint64_t bias = 0, scale = 0, per_image = 0, addend = 0, gate = 0, residual = 0;
  float alpha = 1;
  uint32_t scale_each = 0, image_rows = 1, activation = 0, y_type = 0, residual_type = 0, padding[2] = {};
};

struct WindowParameters {
  uint32_t from[3] = {}, to[3] = {}, taps[3] = {}, stride[3] = {}, dilation[3] = {}, nearest[3] = {};
  int32_t before[3] = {};
  uint32_t image = 0, channels = 0, resized = 0, stored[2] = {};
  float ratio[2] = {};
  uint32_t padding = 0;
};

}  // namespace hearth::vulkan
