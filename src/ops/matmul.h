// Products with a weight.
#pragma once

#include <array>
#include <span>

#include "core/backend.h"

namespace hearth::ops {

// y = gate · act(α · x Wᵀ + bias + per_image) + residual; with a weight of WeightKind::glu [2N, K] the activation is a · act(b) where
// (a, b) = α · x Wᵀ + bias + per_image, bias and per_image of 2N columns (GEGLU: act = gelu).
// x [..., K], w [N, K], bias [N] f32 or undefined → y [..., N] of dtype e.out (default: x's).
// e.residual has the shape of y; e.per_image and e.gate are [B, N] where B is x's first axis. f32 accumulation.
// `norm`, where given, is applied to x [B, ..., K] first, without a tensor of its size where x is large.
// With a weight held in place x, residual and y are f32, and what y holds for a row does not depend on how many others there are; with
// bf16 factors it does on whether these are 16 or more.
// ShapeError unless w is a linear weight whose K fits x, and the epilogue's and the norm's tensors fit.
Tensor linear(const Tensor& x, const Weight& w, const Tensor& bias = {}, const Epilogue& e = {}, const GroupNormSpec& norm = {});

// One of several products of the same x.
struct LinearSpec {
  const Weight& w;
  const Tensor& bias;
  Epilogue e = {};
};

// y_i = linear(x, w_i, bias_i, e_i). Where all meet a single row of x they are one piece of work: reading never stops between them.
void linears(const Tensor& x, std::span<const LinearSpec> specs, std::span<Tensor> ys);
template <size_t count> std::array<Tensor, count> linears(const Tensor& x, const LinearSpec (&specs)[count]) {
  std::array<Tensor, count> ys;
  linears(x, specs, ys);
  return ys;
}

}  // namespace hearth::ops
