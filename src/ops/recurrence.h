// Recurrences over the tokens of a text, with a state that the next call continues from. All tensors are f32; sums are f32. Tokens are
// processed one after another, so that the results do not depend on how a text is divided among calls, bit for bit.
#pragma once

#include "core/backend.h"

namespace hearth::ops {

// A depthwise convolution over the last K tokens:  y[t] = act(bias + Σₖ taps[k] · x[t − K + 1 + k]), where rows in front of x are those of
// `tail`; then `tail` becomes the last K − 1 rows of both.
// x [T, C] with a dense last axis, taps [K, C], bias [C] or undefined, tail [K − 1, C] (undefined if K is 1; zeros at the start of a text)
// → [T, C]. ShapeError for other shapes.
Tensor causal_conv(const Tensor& x, const Tensor& taps, const Tensor& bias, Tensor tail, Activation act = Activation::none);

// A selective state space (Gu & Dao 2023, arXiv 2312.00752): each channel has S states that decay by their own factors.
//   state[s] ← exp(dt[t] · a[s]) · state[s] + dt[t] · x[t] · b[t, s],  y[t] = Σₛ c[t, s] · state[s] + d · x[t]
// x, dt [T, C], b, c [T, S] with dense last axes, a [S, C] (negative), d [C] or undefined, state [S, C] (zeros at the start)
// → [T, C]. ShapeError for other shapes.
Tensor selective_scan(const Tensor& x, const Tensor& dt, const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d, Tensor state);

// A state space (Dao & Gu 2024, arXiv 2405.21060): N heads of D channels decay as a whole, and G groups of heads share b and c.
//   Δ = clamp(softplus(dt[t, n] + spec.bias[n]), least, most)
//   state[n, s] ← exp(Δ · a[n]) · state[n, s] + Δ · x[t, n] · b[t, g, s],  y[t, n] = Σₛ c[t, g, s] · state[n, s] + d[n] · x[t, n]
// x [T, N·D], dt [T, N], b, c [T, G·S] with dense last axes, state [N, S, D] (zeros at the start) → [T, N·D]. ShapeError for other shapes.
Tensor state_space_scan(const Tensor& x, const Tensor& dt, const Tensor& b, const Tensor& c, const StateSpaceSpec& spec, Tensor state);

}  // namespace hearth::ops
