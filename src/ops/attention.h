// Scaled dot-product attention (Vaswani et al. 2017), without storing the score matrix.
#pragma once

#include "core/backend.h"

namespace hearth::ops {

// y = softmax(scale · q kᵀ) v per head, with the options of the spec; scores, maximum and sum in f32, factors of products as spec.factors.
// q [B, T, N, D], k [B, S, G, D], v [B, S, G, Dv] (also views into a fused projection), N a multiple of G → y [B, T, N, Dv]: query head n
// uses key/value head n / (N / G). The factors may be those of the layer's weights: i16 means f32 here. ShapeError unless all shapes match;
// Mask::causal needs T = S. q, k and v may have different float dtypes. UnsupportedError for factors that the backend does not multiply.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec);

// The same for queries that attend to the keys and values stored so far, and to nothing after themselves.
// q [T, N, D] f32, cache.k [C, G, D] contiguous, cache.v [C, G, Dv], its last axis dense (it may be a part of the keys) → y [T, N, Dv].
// ShapeError unless N is a multiple of G, the dtypes are those of KeyValues, and all rows that the queries attend to are still in the ring:
// T + window − 1 ≤ C, or first + T ≤ C without a window; with pages, first + T ≤ P·page.
Tensor cached_attention(const Tensor& q, const KeyValues& cache, const CachedAttentionSpec& spec);

// The same for the queries of several texts, one after the other in q: KeyValues::queries of each.
Tensor cached_attention(const Tensor& q, std::span<const KeyValues> texts, const CachedAttentionSpec& spec);

}  // namespace hearth::ops
