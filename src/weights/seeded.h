// Weights that are a function of the tensor's name, so that goldens hold only inputs and outputs and full-size networks
// run without files. tools/name_weights.py defines the same values:
//
//   h = FNV-1a-64(name);  uᵢ = (splitmix64(h + (i + 1)·0x9E3779B97F4A7C15) >> 40)·2⁻²⁴,  i row-major in checkpoint layout
//   two or more dimensions   (2u − 1)·√3/√fan_in, fan_in = product of all dimensions but the first
//   one dimension, "…weight" 1 + 0.2·(2u − 1)
//   anything else            0.2·(2u − 1)
#pragma once

#include <string_view>

#include "weights/weights.h"

namespace hearth {

uint64_t fnv1a(std::string_view name);
std::vector<float> seeded_uniforms(std::string_view name, int64_t count);  // the uᵢ
// Writes elements [begin, end) of that tensor to values[0 … end − begin).
void fill_seeded(std::string_view name, const Shape& shape, int64_t begin, int64_t end, float* values);
std::vector<float> seeded_values(std::string_view name, const Shape& shape);  // f32, row-major
std::shared_ptr<TensorSource> seeded_source();

}  // namespace hearth
