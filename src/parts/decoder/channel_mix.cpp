#include "parts/decoder/channel_mix.h"

#include "parts/decoder/token_shift.h"

namespace hearth::parts {

ChannelMix::ChannelMix(const Scope& w, int64_t width, const ChannelMixConfig& c)
    : Recurrence(w.backend(), {{1, width}}),
      shift_(w.tensor(c.shift, {width})),
      key_(w / "key", width, c.width, false),
      value_(w / "value", c.width, width, false, c.output_scale) {
  if (c.gate_shift.empty()) return;
  gate_shift_ = w.tensor(c.gate_shift, {width});
  gate_.emplace(w / "receptance", width, width, false);
}

Tensor ChannelMix::operator()(const Tensor& x, const Tensor& residual, const Pass& pass, States states) const {
  const Tensor difference = by_text(pass, states, [&](const Slice& text, const auto& state) { return token_shift(text.of(x), state[0]); });
  Epilogue end{.residual = residual};
  if (gate_) end.gate = (*gate_)(ops::affine(difference, gate_shift_, x), {.activation = Activation::sigmoid});
  return value_(key_(ops::affine(difference, shift_, x), {.activation = Activation::squared_relu}), end);
}

}  // namespace hearth::parts
