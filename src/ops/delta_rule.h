// Recurrences over a matrix or a vector, token by token: the result for a token does not depend on how a text is divided. f32 throughout.
#pragma once

#include "core/backend.h"

namespace hearth::ops {

// The recurrence that `rule` describes (core/specs.h): linear attention with decay, the gated delta rule (Yang et al. 2024,
// arXiv 2412.06464), the WKV of RWKV-6 and RWKV-7 (Peng et al. 2025, arXiv 2503.14456).
// state [H, Dk, Dv] f32 dense: before the first token, and updated to that after the last → y [T, H, Dv] f32.
// ShapeError if the tensors do not match.
Tensor delta_rule(const DeltaRule& rule, Tensor state);

// y[t, h] = base[t, h] + (Σ q[t, h]·k[t, h]·u[h]) · v[t, h].   q, k [T, H, Dk], u [H, Dk], v, base [T, H, Dv], f32 → [T, H, Dv]
// ShapeError for other shapes.
Tensor add_weighted(const Tensor& base, const Tensor& q, const Tensor& k, const Tensor& u, const Tensor& v);

// RG-LRU (De et al. 2024, arXiv 2402.19427): h ← a·h + √(1 − a²)·x with a = exp(log_a), element by element.
// x, log_a [T, C], log_a ≤ 0; state [C]: h, updated. `starts`: the first token is that of a text, and its factor of x is 1 → y [T, C], h of
// each token; f32. ShapeError for other shapes.
Tensor gated_scan(const Tensor& x, const Tensor& log_a, Tensor state, bool starts);

}  // namespace hearth::ops
