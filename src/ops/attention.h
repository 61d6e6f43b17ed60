// Scaled dot-product attention (Vaswani et al. 2017), never holding the score matrix.
#pragma once

#include "core/backend.h"

namespace hearth::ops {

// y = softmax(scale · q kᵀ) v per head; scores, maximum and sum in f32, factors of the products as `factors` says.
// q [B, T, N, D], k and v [B, S, N, D] (views into a fused projection are welcome) → y [B, T, N, D].
// ShapeError unless the three fit; Mask::causal needs T = S. UnsupportedError for factors that the backend has no products of.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, float scale, Mask mask = Mask::none, DType factors = DType::f32);

// The same for queries that see the keys and values stored so far, and nothing after themselves.
// q [T, N, D] f32, cache.k and cache.v [C, G, D] → y [T, N, D]. ShapeError unless N is a multiple of G, the types are those that
// KeyValues names, and all rows that the queries see are still in the ring: T + window − 1 ≤ C, or first + T ≤ C without a window.
Tensor cached_attention(const Tensor& q, const KeyValues& cache, float scale);

}  // namespace hearth::ops
