// The depthwise convolution over the last tokens that stands in front of a recurrence.
#pragma once

#include "ops/recurrence.h"
#include "weights/scope.h"

namespace hearth::parts {

// x [T, C] with a dense last axis → act(conv(x)) [T, C]; `tail` [K − 1, C] is one of the tensors of a RecurrentState.
struct CausalConv {
  // weight [C, 1, K], bias [C] if there is one
  CausalConv(const Scope& w, int64_t channels, int64_t kernel, bool with_bias);

  Tensor operator()(const Tensor& x, const Tensor& tail, Activation act) const { return ops::causal_conv(x, taps, bias, tail, act); }

  Tensor taps;  // [K, C]
  Tensor bias;  // [C], undefined without bias
};

}  // namespace hearth::parts
