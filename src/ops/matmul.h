// Products with a weight.
#pragma once

#include <array>
#include <span>

#include "core/backend.h"

namespace hearth::ops {

// y = gate · act(α · x Wᵀ + bias + per_image) + residual; with a weight of WeightKind::glu [2N, K] the activation is a · act(b) with
// (a, b) = α · x Wᵀ + bias + per_image, and bias and per_image have 2N columns (GEGLU: act = gelu).
// x [..., K], w [N, K], bias [N] f32 or undefined → y [..., N] of dtype e.out (default: x's).
// e.residual has the shape of y; e.per_image and e.gate are [B, N] with B the first axis of x. f32 accumulation.
// With a branch (WeightBranch), α · (up · (down · x)) is added before the activation; its products are f32.
// `norm`, if given, is applied to x [B, ..., K] first, without a tensor of x's size if x is large.
// With a weight held in place, the result for a row does not depend on the number of rows; with bf16 factors it depends only on whether
// there are at least 16.
// ShapeError unless w is a linear weight whose K is that of x, and the tensors of epilogue and norm have matching shapes.
Tensor linear(const Tensor& x, const Weight& w, const Tensor& bias = {}, const Epilogue& e = {}, const GroupNormSpec& norm = {});

// One of several products with the same x.
struct LinearSpec {
  const Weight& w;
  const Tensor& bias;
  Epilogue e = {};
};

// y_i = linear(x, w_i, bias_i, e_i). If x has a single row, all products are one piece of work, so that reading weights never pauses.
void linears(const Tensor& x, std::span<const LinearSpec> specs, std::span<Tensor> ys);
template <size_t count> std::array<Tensor, count> linears(const Tensor& x, const LinearSpec (&specs)[count]) {
  std::array<Tensor, count> ys;
  linears(x, specs, ys);
  return ys;
}

}  // namespace hearth::ops
