// The MLP of a decoder's layer: down(act(gate(x)) · up(x)) (Shazeer 2020).
#pragma once

#include "nn/layers.h"
#include "parts/decoder/block.h"

namespace hearth::parts {

struct MlpConfig {
  int64_t width = 11008;  // of the hidden layer
  Activation activation = Activation::silu;
  bool bias = false;

  bool operator==(const MlpConfig&) const = default;
};

class Mlp final : public Block {
 public:
  Mlp(const Scope& w, int64_t width, const MlpConfig& config);
  Tensor operator()(const Tensor& x, const Tensor& residual, const Pass& pass, BlockState* state) const override;

 private:
  nn::Linear gate_proj_, up_proj_;  // [I, C]
  nn::Linear down_proj_;            // [C, I]
  Activation activation_;
};

}  // namespace hearth::parts
