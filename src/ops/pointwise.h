// Elementwise functions. f32 arithmetic, rounded at the store.
#pragma once

#include <span>

#include "core/backend.h"

namespace hearth::ops {

Tensor activate(const Tensor& x, Activation act);  // any shape → the same
Tensor add(const Tensor& a, const Tensor& b);      // equal shapes and dtypes
// Σ factorᵢ · xᵢ, added in the given order. All of one shape and dtype. ShapeError when they differ or none is given.
Tensor linear_combination(std::span<const Tensor> xs, std::span<const float> factors);
inline Tensor linear_combination(std::initializer_list<Tensor> xs, std::initializer_list<float> factors) {
  return linear_combination(std::span<const Tensor>(xs.begin(), xs.size()), std::span<const float>(factors.begin(), factors.size()));
}

}  // namespace hearth::ops
