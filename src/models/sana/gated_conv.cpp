#include "models/sana/gated_conv.h"

namespace hearth::models::sana {

ShiftedRmsNorm::ShiftedRmsNorm(const Scope& w, int64_t channels)
    : gamma(w.tensor("weight", {channels})), beta(w.tensor("bias", {channels})) {}

Tensor ShiftedRmsNorm::operator()(const Tensor& x) const {
  const Tensor shift = beta ? ops::repeat_batch(beta.view({1, beta.size(0)}), x.size(0)) : Tensor();
  return ops::rms_norm(x, {.gamma = gamma, .eps = 1e-5f, .shift = shift});
}

GatedConv::GatedConv(const Scope& w, int64_t channels, int64_t hidden_)
    : inverted(w / "conv_inverted", channels, 2 * hidden_, 1),
      depthwise(w / "conv_depth", 2 * hidden_, 2 * hidden_, 3, ConvSpec::same(3), nn::Bias::yes, 2 * hidden_),
      point(w / "conv_point", hidden_, channels, 1, {}, nn::Bias::no),
      hidden(hidden_) {}

Tensor GatedConv::operator()(const Tensor& x, const Epilogue& e) const {
  const Tensor both = depthwise(inverted(x, {.activation = Activation::silu}));
  const Tensor gate = ops::activate(both.slice(3, hidden, 2 * hidden), Activation::silu);
  return point(ops::multiply(both.slice(3, 0, hidden), gate), e);
}

}  // namespace hearth::models::sana
