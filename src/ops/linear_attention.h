// Attention without a softmax: its cost grows with the number of tokens, not with its square.
#pragma once

#include "core/tensor.h"

namespace hearth::ops {

// Katharopoulos et al. 2020 (arXiv 2006.16236), every query over all keys:
//   y[t] = (Σₛ (q[t]·k[s]) v[s]) / (Σₛ q[t]·k[s] + eps)
// for queries and keys that are not negative. q [B, T, N, D], k [B, S, N, D], v [B, S, N, Dv], all f32 → [B, T, N, Dv] f32.
// ShapeError if the tensors do not match.
Tensor linear_attention(const Tensor& q, const Tensor& k, const Tensor& v, float eps);

}  // namespace hearth::ops
