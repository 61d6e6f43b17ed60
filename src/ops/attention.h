// Scaled dot-product attention (Vaswani et al. 2017), never holding the score matrix.
#pragma once

#include "core/backend.h"

namespace hearth::ops {

// y = softmax(scale · q kᵀ) v per head, as the spec says; scores, maximum and sum in f32, factors of the products as spec.factors says.
// q [B, T, N, D], k [B, S, G, D], v [B, S, G, Dv] (views into a fused projection are welcome), N a multiple of G → y [B, T, N, Dv]: head n
// reads keys and values n / (N / G). ShapeError unless all fit; Mask::causal needs T = S. UnsupportedError for factors that the backend has
// no products of.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec);

// The same for queries that see the keys and values stored so far, and nothing after themselves.
// q [T, N, D] f32, cache.k [C, G, D], cache.v [C, G, Dv] → y [T, N, Dv]. ShapeError unless N is a multiple of G, the types are those that
// KeyValues names, and all rows that the queries see are still in the ring: T + window − 1 ≤ C, or first + T ≤ C without a window.
Tensor cached_attention(const Tensor& q, const KeyValues& cache, const CachedAttentionSpec& spec);

}  // namespace hearth::ops
