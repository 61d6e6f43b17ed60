#include "models/rwkv7/blocks.h"

#include <cmath>

#include "ops/delta_rule.h"
#include "parts/decoder/token_shift.h"

namespace hearth::models::rwkv7 {

std::unique_ptr<parts::Block> TimeMixConfig::build(const Scope& w, int64_t width, const std::vector<parts::RotaryConfig>&) const {
  return std::make_unique<TimeMix>(w, width, *this);
}

LowRank::LowRank(const Scope& w, int64_t width, int64_t rank, bool bias, Activation a)
    : down(w / "lora.0", width, rank, false), up(w / "lora.2", rank, width, bias), activation(a) {}

Tensor LowRank::operator()(const Tensor& x, Activation after) const {
  return up(down(x, {.activation = activation}), {.activation = after});
}

TimeMix::TimeMix(const Scope& w, int64_t width, const TimeMixConfig& c)
    : Recurrence(w.backend(), {{1, width}, {c.heads, c.size, c.size}}),
      config_(c),
      width_(width),
      r_(w / "r_proj", width, width, false),
      k_(w / "k_proj", width, width, false),
      v_(w / "v_proj", width, width, false),
      o_(w / "o_proj", width, width, false),
      decay_(w / "w_lora", width, c.decay_rank, true, Activation::tanh),
      rate_(w / "a_lora", width, c.rate_rank, true, Activation::none),
      value_(w / "v_lora", width, c.first ? c.rate_rank : c.value_rank, true, Activation::none),
      gate_(w / "g_lora", width, c.gate_rank, false, Activation::sigmoid),
      key_scale_(w.tensor("k_k", {width})),
      key_rate_(w.tensor("k_a", {width})),
      bonus_(w.tensor("r_k", {width})),
      key_gamma_(Tensor::filled(w.backend(), {c.size}, 1 / std::sqrt(float(c.size)))),
      gamma_((w / "g_norm").tensor("weight", {width})),
      beta_((w / "g_norm").tensor("bias", {width})) {
  if (const Tensor all = w.tensor("x_x", {6, 1, 1, width}))
    for (int64_t i = 0; i < 6; ++i) shifts_[size_t(i)] = all.slice(0, i, i + 1).view({width});
  if (key_rate_) without_rate_ = ops::scaled(key_rate_, -1, 1);
  if (bonus_) bonus_ = bonus_.view({c.heads, c.size});
}

Tensor TimeMix::operator()(const Tensor& x, const Tensor& residual, const parts::Pass& pass, parts::States states) const {
  const int64_t T = x.size(0), H = config_.heads, N = config_.size, C = width_;
  const Tensor difference =
      by_text(pass, states, [&](const parts::Slice& text, const auto& state) { return parts::token_shift(text.of(x), state[0]); });
  const auto mixed = [&](size_t i) { return ops::affine(difference, shifts_[i], x); };
  const auto by_head = [&](const Tensor& t) { return t.view({T, H, N}); };

  const Tensor r = r_(mixed(0)), key = k_(mixed(2)), xv = mixed(3);
  const Tensor log_decay = ops::scaled(decay_(mixed(1), Activation::sigmoid), -std::exp(-0.5f), 0);
  const Tensor v = mixed_values(v_(xv), xv, pass), a = rate_(mixed(4), Activation::sigmoid);
  // k⊙k_k / ‖k⊙k_k‖
  const Tensor kappa = ops::rms_norm(by_head(ops::affine(key, key_scale_, {})), {.gamma = key_gamma_, .eps = 1e-24f / float(N)});
  const Tensor k = ops::multiply(key, ops::affine(a, key_rate_, without_rate_));

  const Tensor kappa_rate = ops::multiply(kappa, by_head(ops::scaled(a, -1, 0)));
  const Tensor y = by_text(pass, states, [&](const parts::Slice& text, const auto& state) {
    const auto own = [&](const Tensor& t) { return text.of(by_head(t)); };
    return ops::delta_rule({.q = own(r), .k = own(k), .v = own(v), .decay = own(log_decay), .a = text.of(kappa), .b = text.of(kappa_rate)},
                           state[1]);
  });
  const Tensor normed = ops::affine(ops::layer_norm(y, {.eps = config_.eps}).view({T, C}), gamma_, beta_);
  const Tensor sum = ops::add_weighted(by_head(normed), by_head(r), by_head(k), bonus_, by_head(v)).view({T, C});
  return o_(ops::multiply(sum, gate_(mixed(5), Activation::none)), {.residual = residual});
}

Tensor TimeMix::mixed_values(const Tensor& v, const Tensor& x, const parts::Pass& pass) const {
  if (config_.first) return *pass.shared = v;
  const Tensor difference = ops::linear_combination({*pass.shared, v}, {1, -1});
  return ops::affine(difference, value_(x, Activation::sigmoid), v);
}

}  // namespace hearth::models::rwkv7
