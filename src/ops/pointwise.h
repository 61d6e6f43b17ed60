// Elementwise functions. f32 arithmetic, rounded at the store.
#pragma once

#include <span>

#include "core/backend.h"

namespace hearth::ops {

Tensor activate(const Tensor& x, Activation act);   // any shape → the same shape
Tensor add(const Tensor& a, const Tensor& b);       // equal shapes and dtypes
Tensor multiply(const Tensor& a, const Tensor& b);  // elementwise; equal shapes and dtypes
// y = x·scale + shift of x [B, ..., C]; scale and shift are f32 [C], [B, C] (for every position of an image) or [rows, C], the last axis
// dense; either may be undefined. → the shape and dtype of x. ShapeError for other shapes.
Tensor affine(const Tensor& x, const Tensor& scale, const Tensor& shift);
// x·factor + offset, as linear_combination computes it. Errors of linear_combination.
Tensor scaled(const Tensor& x, float factor, float offset);
// Σ factorᵢ · xᵢ, added in the given order. ShapeError unless all have one shape and dtype, and there is at least one.
Tensor linear_combination(std::span<const Tensor> xs, std::span<const float> factors);
inline Tensor linear_combination(std::initializer_list<Tensor> xs, std::initializer_list<float> factors) {
  return linear_combination(std::span<const Tensor>(xs.begin(), xs.size()), std::span<const float>(factors.begin(), factors.size()));
}

}  // namespace hearth::ops
