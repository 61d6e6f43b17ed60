// A linear layer of a block: whole, or some of the rows of a matrix that the checkpoint stores for several layers together.
#pragma once

#include "nn/layers.h"

namespace hearth::parts {

// y = scale · (x Wᵀ + b).   x [..., in] → [..., out]
struct Projection {
  // weight [out, in], bias [out] if there is one
  Projection(const Scope& w, int64_t in, int64_t out, bool with_bias, float scale_ = 1);
  // Rows first … first + out − 1 of weight [all, in], bias [all]
  Projection(const Scope& w, int64_t in, int64_t first, int64_t out, int64_t all, bool with_bias);

  Tensor operator()(const Tensor& x, Epilogue e = {}) const {
    e.alpha = scale;
    return ops::linear(x, weight, bias, e);
  }

  Weight weight;
  Tensor bias;  // scaled; undefined without bias
  float scale = 1;
};

}  // namespace hearth::parts
