#include "models/rwkv6/blocks.h"

#include "ops/delta_rule.h"
#include "parts/decoder/token_shift.h"

namespace hearth::models::rwkv6 {
namespace {

enum Shifted { of_decay, of_key, of_value, of_receptance, of_gate, shifted_count };

}  // namespace

std::unique_ptr<parts::Block> TimeMixConfig::build(const Scope& w, int64_t width, const std::vector<parts::RotaryConfig>&) const {
  return std::make_unique<TimeMix>(w, width, *this);
}

TimeMix::TimeMix(const Scope& w, int64_t width, const TimeMixConfig& c)
    : Recurrence(w.backend(), {{1, width}, {c.heads, c.size, c.size}}),
      config_(c),
      width_(width),
      shift_(w.tensor("time_maa_x", {width})),
      shift_down_(w.linear("time_maa_w1", shifted_count * c.shift_rank, width)),
      decay_(w.tensor("time_decay", {width})),
      decay_down_(w.linear("time_decay_w1", c.decay_rank, width)),
      decay_up_(w.linear("time_decay_w2", width, c.decay_rank)),
      bonus_(w.tensor("time_faaaa", {c.heads, c.size})),
      r_(w / "receptance", width, width, false),
      k_(w / "key", width, width, false),
      v_(w / "value", width, width, false),
      g_(w / "gate", width, width, false),
      o_(w / "output", width, width, false, c.output_scale),
      gamma_((w / "ln_x").tensor("weight", {width})),
      beta_((w / "ln_x").tensor("bias", {width})) {
  const Tensor all = w.tensor("time_maa", {shifted_count, 1, 1, width});
  for (int64_t i = 0; i < shifted_count; ++i) {
    shift_up_.push_back((w / "time_maa_w2" / i).linear("weight", width, c.shift_rank));
    shifts_.push_back(all ? all.slice(0, i, i + 1).view({width}) : Tensor());
  }
}

Tensor TimeMix::operator()(const Tensor& x, const Tensor& residual, const parts::Pass& pass, parts::States states) const {
  const int64_t T = x.size(0), H = config_.heads, N = config_.size, C = width_;
  const Tensor difference =
      by_text(pass, states, [&](const parts::Slice& text, const auto& state) { return parts::token_shift(text.of(x), state[0]); });
  const Tensor low = ops::linear(ops::affine(difference, shift_, x), shift_down_, {}, {.activation = Activation::tanh});
  const auto mixed = [&](size_t i) {
    const int64_t R = config_.shift_rank, begin = int64_t(i) * R;
    return ops::affine(difference, ops::linear(ops::contiguous(low.slice(1, begin, begin + R)), shift_up_[i], shifts_[i]), x);
  };
  const auto by_head = [&](const Tensor& t) { return t.view({T, H, N}); };

  const Tensor rate = ops::linear(ops::linear(mixed(of_decay), decay_down_, {}, {.activation = Activation::tanh}), decay_up_, decay_);
  const Tensor r = by_head(r_(mixed(of_receptance))), k = by_head(k_(mixed(of_key))), v = by_head(v_(mixed(of_value)));
  const Tensor decay = by_head(rate);
  const Tensor before = by_text(pass, states, [&](const parts::Slice& text, const auto& state) {
    return ops::delta_rule(
        {.q = text.of(r), .k = text.of(k), .v = text.of(v), .decay = text.of(decay), .reads_before = true, .by_rate = true}, state[1]);
  });
  const Tensor y = ops::add_weighted(before, r, k, bonus_, v);
  const Tensor normed = ops::affine(ops::layer_norm(y, {.eps = config_.eps}).view({T, C}), gamma_, beta_);
  return o_(ops::multiply(normed, g_(mixed(of_gate), {.activation = Activation::silu})), {.residual = residual});
}

}  // namespace hearth::models::rwkv6
