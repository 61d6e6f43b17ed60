// The MLP of a decoder's layer: down(act(gate(x)) · up(x)) (Shazeer 2020).
#pragma once

#include "parts/decoder/block.h"
#include "parts/decoder/projection.h"

namespace hearth::parts {

struct MlpConfig {
  int64_t width = 11008;  // of the hidden layer, I
  Activation activation = Activation::silu;
  bool bias = false;
  bool fused = false;      // gate_up_proj [2·I, C] in place of gate_proj and up_proj: the rows of the gate, then those of the values
  float output_scale = 1;  // of what is added to the residual stream
  // If it is not 0: (clamp(u, −limit, limit) + 1) · act(min(g, limit)) of the gate g and the values u.
  float limit = 0;
  struct Names {
    std::string gate = "gate_proj", up = "up_proj", down = "down_proj";
    bool operator==(const Names&) const = default;
  } names = {};

  bool operator==(const MlpConfig&) const = default;
};

// act(gate) · up, for gates g and values u [M, I]; on the CPU.
Tensor clamped_glu(const Tensor& g, const Tensor& u, Activation activation, float limit);

class Mlp final : public Block {
 public:
  Mlp(const Scope& w, int64_t width, const MlpConfig& config);
  Tensor operator()(const Tensor& x, const Tensor& residual, const Pass& pass, States states) const override;

 private:
  Projection gate_, up_;  // [I, C]
  Projection down_;       // [C, I]
  Activation activation_;
  float limit_;
};

}  // namespace hearth::parts
