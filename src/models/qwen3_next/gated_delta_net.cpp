#include "models/qwen3_next/gated_delta_net.h"

#include <cmath>

#include "ops/delta_rule.h"
#include "ops/recurrence.h"

namespace hearth::models::qwen3_next {

std::unique_ptr<parts::Block> GatedDeltaNetConfig::build(const Scope& w, int64_t width, const std::vector<parts::RotaryConfig>&) const {
  return std::make_unique<GatedDeltaNet>(w, width, *this);
}

GatedDeltaNet::GatedDeltaNet(const Scope& w, int64_t width, const GatedDeltaNetConfig& c)
    : Recurrence(w.backend(), {{c.taps - 1, c.mixed()}, {c.value_heads, c.key_size, c.value_size}}),
      config_(c),
      qkv_(w / "in_proj_qkv", width, c.mixed(), false),
      z_(w / "in_proj_z", width, c.values(), false),
      ba_(w / "in_proj_ba", width, 2 * c.value_heads, false),
      taps_((w / "conv1d").tensor("weight", {c.mixed(), c.taps})),
      a_(w.tensor("a", {c.value_heads})),
      dt_bias_(w.tensor("dt_bias", {c.value_heads})),
      query_gamma_(Tensor::filled(w.backend(), {c.key_size}, 1 / float(c.key_size))),
      key_gamma_(Tensor::filled(w.backend(), {c.key_size}, 1 / std::sqrt(float(c.key_size)))),
      norm_(w / "norm", c.value_size, c.eps),
      out_(w / "out_proj", c.values(), width, false) {
  if (taps_) taps_ = ops::contiguous(taps_.permute({1, 0}));
}

Tensor GatedDeltaNet::operator()(const Tensor& x, const Tensor& residual, const parts::Pass& pass, parts::States states) const {
  const int64_t T = x.size(0), G = config_.key_heads, H = config_.value_heads, Dk = config_.key_size, Dv = config_.value_size;
  const auto products = nn::together(x, qkv_, z_, ba_);
  const Tensor &projected = products[0], &z = products[1], &ba = products[2];
  const Tensor mixed = by_text(pass, states, [&](const parts::Slice& text, const auto& state) {
    return ops::causal_conv(text.of(projected), taps_, {}, state[0], Activation::silu);
  });

  const int64_t keys = config_.keys();
  const auto part = [&](int64_t begin, int64_t end, int64_t heads, int64_t size) {
    return ops::contiguous(mixed.slice(1, begin, end)).view({T, heads, size});
  };
  // x / √(Σx² + 1e-6), and queries also / √Dk
  const float eps = 1e-6f / float(Dk);
  const Tensor q = ops::rms_norm(part(0, keys, G, Dk), {.gamma = query_gamma_, .eps = eps}),
               k = ops::rms_norm(part(keys, 2 * keys, G, Dk), {.gamma = key_gamma_, .eps = eps}),
               v = part(2 * keys, 2 * keys + config_.values(), H, Dv);

  const Tensor by_group = ba.view({T, G, 2, H / G});
  const auto of_heads = [&](int64_t which) { return ops::contiguous(by_group.slice(2, which, which + 1)).view({T, H}); };
  const Tensor beta = ops::activate(of_heads(0), Activation::sigmoid),
               step = ops::activate(ops::affine(of_heads(1), {}, dt_bias_), Activation::softplus);
  const Tensor decay = ops::affine(step, a_, {});
  const Tensor y = by_text(pass, states, [&](const parts::Slice& text, const auto& state) {
    return ops::delta_rule({.q = text.of(q), .k = text.of(k), .v = text.of(v), .decay = text.of(decay), .beta = text.of(beta)}, state[1]);
  });
  const Tensor gated = ops::multiply(norm_(y).view({T, H * Dv}), ops::activate(z, Activation::silu));
  return out_(gated, {.residual = residual});
}

}  // namespace hearth::models::qwen3_next
