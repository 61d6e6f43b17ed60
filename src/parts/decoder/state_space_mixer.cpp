#include "parts/decoder/state_space_mixer.h"

#include "parts/decoder/selective_mixer.h"

namespace hearth::parts {
namespace {

int64_t inner_of(const StateSpaceMixerConfig& c) { return c.heads * c.head; }
int64_t convolved_of(const StateSpaceMixerConfig& c) { return inner_of(c) + 2 * c.groups * c.states; }

// Rows first … first + count − 1 of in_proj.
Projection rows_of_in_proj(const Scope& w, int64_t width, const StateSpaceMixerConfig& c, int64_t first, int64_t count) {
  return {w / "in_proj", width, first, count, inner_of(c) + convolved_of(c) + c.heads, c.bias};
}

}  // namespace

StateSpaceMixer::StateSpaceMixer(const Scope& w, int64_t width, const StateSpaceMixerConfig& c)
    : Recurrence(w.backend(), {{c.kernel - 1, convolved_of(c)}, {c.heads, c.states, c.head}}),
      config_(c),
      gate_(rows_of_in_proj(w, width, c, 0, inner_of(c))),
      in_(rows_of_in_proj(w, width, c, inner_of(c), convolved_of(c))),
      dt_(rows_of_in_proj(w, width, c, inner_of(c) + convolved_of(c), c.heads)),
      conv_(w / "conv1d", convolved_of(c), c.kernel, c.conv_bias),
      scan_{.a = decay_rates(w, {c.heads}, c.logarithms),
            .d = w.tensor("D", {c.heads}),
            .bias = w.tensor("dt_bias", {c.heads}),
            .groups = c.groups,
            .least = c.least_step,
            .most = c.most_step},
      gamma_((w / "norm").tensor("weight", {inner_of(c)})),
      out_(w / "out_proj", inner_of(c), width, c.bias) {}

Tensor StateSpaceMixer::operator()(const Tensor& u, const Tensor& residual, const Pass& pass, States states) const {
  const auto products =
      ops::linears(u, {{gate_.weight, gate_.bias, {.activation = Activation::silu}}, {in_.weight, in_.bias}, {dt_.weight, dt_.bias}});
  const Tensor &gate = products[0], &in = products[1], &dt = products[2];
  const Tensor xbc =
      by_text(pass, states, [&](const Slice& text, const auto& state) { return conv_(text.of(in), state[0], config_.activation); });
  auto part = [&, at = int64_t(0)](int64_t count) mutable { return at += count, xbc.slice(1, at - count, at); };
  const Tensor x = part(inner_of(config_)), b = part(config_.groups * config_.states), c = part(config_.groups * config_.states);
  const Tensor y = by_text(pass, states, [&](const Slice& text, const auto& state) {
    return ops::state_space_scan(text.of(x), text.of(dt), text.of(b), text.of(c), scan_, state[1]);
  });
  return out_(gated_norm(y, gate), {.residual = residual});
}

Tensor StateSpaceMixer::gated_norm(const Tensor& y, const Tensor& gate) const {
  const int64_t T = y.size(0), I = y.size(1), G = config_.groups;
  const Tensor x = config_.gated_first ? ops::multiply(y, gate) : y;
  const Tensor normed = ops::affine(normalized(x.view({T, G, I / G}), {.eps = config_.eps}).view({T, I}), gamma_, {});
  return config_.gated_first ? normed : ops::multiply(normed, gate);
}

}  // namespace hearth::parts
