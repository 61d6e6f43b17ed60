#include "parts/decoder/selective_mixer.h"

#include <cmath>

#include "core/on_host.h"
#include "ops/pointwise.h"
#include "ops/shape_ops.h"

namespace hearth::parts {

Tensor decay_rates(const Scope& w, const Shape& shape, bool logarithms) {
  const Tensor stored = w.tensor("A_log", shape);
  if (!stored || !logarithms) return stored;
  return on_host(
      shape,
      [&](float* y, const float* x) {
        for (int64_t i = 0; i < shape.numel(); ++i) y[i] = -std::exp(x[i]);
      },
      stored);
}

SelectiveMixer::SelectiveMixer(const Scope& w, int64_t width, const SelectiveMixerConfig& c)
    : Recurrence(w.backend(), {{c.kernel - 1, c.inner}, {c.states, c.inner}}),
      config_(c),
      in_(w / "in_proj", width, 0, c.inner, 2 * c.inner, c.bias),
      gate_(w / "in_proj", width, c.inner, c.inner, 2 * c.inner, c.bias),
      conv_(w / "conv1d", c.inner, c.kernel, c.conv_bias),
      parameters_(w / "x_proj", c.inner, c.rank + 2 * c.states, false),
      dt_(w / "dt_proj", c.rank, c.inner, true),
      out_(w / "out_proj", c.inner, width, c.bias),
      d_(w.tensor("D", {c.inner})) {
  if (const Tensor a = decay_rates(w, {c.inner, c.states}, c.logarithms)) a_ = ops::contiguous(a.permute({1, 0}));
  if (!c.norms || !c.norms->weights) return;
  const NormConfig norm{.eps = c.norms->eps};
  dt_norm_.emplace(w / "dt_layernorm", c.rank, norm);
  b_norm_.emplace(w / "b_layernorm", c.states, norm);
  c_norm_.emplace(w / "c_layernorm", c.states, norm);
}

Tensor SelectiveMixer::operator()(const Tensor& u, const Tensor& residual, const Pass& pass, States states) const {
  const int64_t R = config_.rank, S = config_.states;
  const auto products = ops::linears(u, {{in_.weight, in_.bias}, {gate_.weight, gate_.bias, {.activation = config_.activation}}});
  const Tensor &in = products[0], &gate = products[1];
  const auto tail = [&](const Slice& text, const auto& state) { return conv_(text.of(in), state[0], config_.activation); };
  const Tensor x = by_text(pass, states, tail), parameters = parameters_(x);
  const auto part = [&](int64_t first, int64_t count, const std::optional<Norm>& norm) {
    const Tensor own = parameters.slice(1, first, first + count);
    return norm ? (*norm)(own) : config_.norms ? normalized(own, {.eps = config_.norms->eps}) : own;
  };
  const Tensor dt = dt_(part(0, R, dt_norm_), {.activation = Activation::softplus});
  const Tensor b = part(R, S, b_norm_), c = part(R + S, S, c_norm_);
  const Tensor y = by_text(pass, states, [&](const Slice& text, const auto& state) {
    return ops::selective_scan(text.of(x), text.of(dt), a_, text.of(b), text.of(c), d_, state[1]);
  });
  return out_(ops::multiply(y, gate), {.residual = residual});
}

}  // namespace hearth::parts
