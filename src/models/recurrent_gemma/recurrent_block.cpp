#include "models/recurrent_gemma/recurrent_block.h"

#include "ops/delta_rule.h"

namespace hearth::models::recurrent_gemma {

std::unique_ptr<parts::Block> RecurrentConfig::build(const Scope& w, int64_t width_, const std::vector<parts::RotaryConfig>&) const {
  return std::make_unique<RecurrentBlock>(w, width_, *this);
}

RecurrentBlock::Gate::Gate(const Scope& w, const std::string& name, const RecurrentConfig& c) {
  const int64_t W = c.width / c.heads;
  for (int64_t n = 0; n < c.heads; ++n) weights.push_back((w / name / n).linear("weight", W, W));
  if (const Tensor bias = w.tensor(name + "_bias", {c.heads, W}))
    for (int64_t n = 0; n < c.heads; ++n) biases.push_back(bias.slice(0, n, n + 1).view({W}));
  biases.resize(weights.size());
}

RecurrentBlock::RecurrentBlock(const Scope& w, int64_t width, const RecurrentConfig& c)
    : Recurrence(w.backend(), {{c.taps - 1, c.width}, {c.width}}),
      config_(c),
      x_(w / "linear_x", width, c.width, true),
      y_(w / "linear_y", width, c.width, true),
      out_(w / "linear_out", c.width, width, true),
      conv_(w / "conv_1d", c.width, c.taps, true),
      input_gate_(w / "rg_lru", "input_gate", c),
      recurrent_gate_(w / "rg_lru", "recurrent_gate", c),
      decay_((w / "rg_lru").tensor("recurrent_param", {c.width})) {
  if (decay_) decay_ = ops::scaled(ops::activate(decay_, Activation::softplus), -8, 0);
}

std::pair<Tensor, Tensor> RecurrentBlock::gates(const Tensor& u) const {
  const int64_t N = config_.heads, W = config_.width / N;
  std::vector<Tensor> input, recurrent;
  for (int64_t n = 0; n < N; ++n) {
    const size_t i = size_t(n);
    const auto [a, b] = ops::linears<2>(ops::contiguous(u.slice(1, n * W, (n + 1) * W)),
                                        {{input_gate_.weights[i], input_gate_.biases[i], {.activation = Activation::sigmoid}},
                                         {recurrent_gate_.weights[i], recurrent_gate_.biases[i], {.activation = Activation::sigmoid}}});
    input.push_back(a), recurrent.push_back(b);
  }
  return {ops::concat(input, 1), ops::concat(recurrent, 1)};
}

Tensor RecurrentBlock::operator()(const Tensor& x, const Tensor& residual, const parts::Pass& pass, parts::States states) const {
  const auto products = ops::linears<2>(x, {{x_.weight, x_.bias}, {y_.weight, y_.bias, {.activation = config_.activation}}});
  const Tensor &branch = products[0], &gate = products[1];
  const Tensor u = by_text(pass, states,
                           [&](const parts::Slice& text, const auto& state) { return conv_(text.of(branch), state[0], Activation::none); });
  const auto [input, recurrent] = gates(u);
  const Tensor inputs = ops::multiply(u, input), log_decay = ops::affine(recurrent, decay_, {});
  const Tensor h = by_text(pass, states, [&](const parts::Slice& text, const auto& state) {
    return ops::gated_scan(text.of(inputs), text.of(log_decay), state[1], text.first == 0);
  });
  return out_(ops::multiply(h, gate), {.residual = residual});
}

}  // namespace hearth::models::recurrent_gemma
