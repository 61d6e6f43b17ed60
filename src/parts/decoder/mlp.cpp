#include "parts/decoder/mlp.h"

namespace hearth::parts {

Mlp::Mlp(const Scope& w, int64_t width, const MlpConfig& c)
    : gate_proj_(w / "gate_proj", width, c.width, c.bias ? nn::Bias::yes : nn::Bias::no),
      up_proj_(w / "up_proj", width, c.width, c.bias ? nn::Bias::yes : nn::Bias::no),
      down_proj_(w / "down_proj", c.width, width, c.bias ? nn::Bias::yes : nn::Bias::no),
      activation_(c.activation) {}

Tensor Mlp::operator()(const Tensor& x, const Tensor& residual, const Pass&, BlockState*) const {
  return down_proj_(up_proj_(x, {.gate = gate_proj_(x, {.activation = activation_})}), {.residual = residual});
}

}  // namespace hearth::parts
