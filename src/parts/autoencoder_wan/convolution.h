// A convolution over frames, rows and columns that sees no later frame, as it acts on the first frame of a video, or on an image.
#pragma once

#include "ops/conv.h"
#include "weights/scope.h"

namespace hearth::parts {

// The frames before the first are zeros, so that only the kernel's last slice acts on it: a convolution over rows and columns, which is all
// that is kept of the weight. x [B, H, W, in] → [B, H', W', out].
struct FirstFrameConv {
  // weight [out, in, frames, kernel, kernel], bias [out].
  FirstFrameConv(const Scope& w, int64_t in, int64_t out, int64_t frames, int64_t kernel, ConvSpec spec = {});

  Tensor operator()(const Tensor& x, const Epilogue& e = {}) const { return ops::conv(x, weight, bias, spec, e); }

  Weight weight;  // [out, in, kernel, kernel]
  Tensor bias;    // [out]
  ConvSpec spec;
};

}  // namespace hearth::parts
