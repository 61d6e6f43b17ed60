#include "parts/decoder/attention.h"

#include <cmath>

#include "ops/rope.h"

namespace hearth::parts {
namespace {

// Heads first … first + count − 1 of the matrix that is stored for queries, keys and values together, or the matrix of this name.
Projection heads_of(const Scope& w, int64_t width, const AttentionConfig& c, std::string_view name, int64_t first, int64_t count) {
  if (c.fused && c.gated) fail<UnsupportedError>("attention: '{}' with gates is not supported", c.names.qkv);
  if (c.fused) return {w / c.names.qkv, width, first * c.head, count * c.head, (c.heads + 2 * c.groups) * c.head, c.qkv_bias};
  return {w / name, width, count * c.head, c.qkv_bias};
}

}  // namespace

HeadNorm::HeadNorm(const Scope& w, const std::string& name, int64_t heads_, int64_t head_, const QkNormConfig& c)
    : config(c), heads(heads_), head(head_) {
  const Scope at = w / name;
  if (c.over != QkNormConfig::Over::each_head) {
    norm.emplace(at, c.over == QkNormConfig::Over::all ? heads * head : head, c.norm);
  } else if (c.listed) {
    std::vector<Tensor> all;
    for (int64_t n = 0; n < heads; ++n) all.push_back((at / "norms" / n).tensor("weight", {head}));
    if (all[0]) gamma = ops::concat(all, 0);
  } else if (const Tensor stored = at.tensor("weight", {heads, head})) {
    gamma = stored.view({heads * head});
  }
}

Tensor HeadNorm::operator()(const Tensor& x) const {
  const int64_t T = x.size(0);
  if (config.over == QkNormConfig::Over::all) return (*norm)(x).view({T, heads, head});
  const Tensor by_head = x.view({T, heads, head});
  if (config.over == QkNormConfig::Over::head) return (*norm)(by_head);
  return ops::affine(normalized(by_head, config.norm).view({T, heads * head}), gamma, {}).view({T, heads, head});
}

Attention::Attention(const Scope& w, int64_t width, const std::vector<RotaryConfig>& rotaries, const AttentionConfig& c)
    : config_(c),
      q_(heads_of(w, width, c, c.names.q, 0, c.gated ? 2 * c.heads : c.heads)),
      k_(heads_of(w, width, c, c.names.k, c.heads, c.groups)),
      v_(heads_of(w, width, c, c.names.v, c.heads + c.groups, c.groups)),
      o_(w / c.names.o, c.heads * c.head, width, c.o_bias, c.output_scale) {
  if (c.rotary != AttentionConfig::no_positions) pairs_ = rotaries.at(size_t(c.rotary)).pairs;
  if (c.scale == 0) config_.scale = 1.0f / std::sqrt(float(c.head));
  if (c.sinks) sinks_ = w.tensor("sinks", {c.heads});
  if (!c.qk_norm) return;
  q_norm_.emplace(w, c.qk_norm->q, c.heads, c.head, *c.qk_norm);
  k_norm_.emplace(w, c.qk_norm->k, c.groups, c.head, *c.qk_norm);
}

Tensor Attention::operator()(const Tensor& x, const Tensor& residual, const Pass& pass, States states) const {
  const auto& [T, N, G, D] = std::array{x.size(0), config_.heads, config_.groups, config_.head};
  auto [q, k, v] = nn::together(x, q_, k_, v_);
  Tensor gate;
  if (config_.gated) {
    const Tensor both = q.view({T, N, 2 * D});
    gate = ops::activate(ops::contiguous(both.slice(2, D, 2 * D)), Activation::sigmoid).view({T, N * D});
    q = ops::contiguous(both.slice(2, 0, D)).view({T, N * D});
  }
  q = q_norm_ ? (*q_norm_)(q) : q.view({T, N, D});
  k = k_norm_ ? (*k_norm_)(k) : k.view({T, G, D});
  const auto seen = stored_keys(pass, states, turned(k, pass), v.view({T, G, D}));
  const Tensor y = ops::cached_attention(turned(q, pass), seen, {.scale = config_.scale, .soft_cap = config_.soft_cap, .sinks = sinks_});
  return o_(gate ? ops::multiply(y.view({T, N * D}), gate) : y.view({T, N * D}), {.residual = residual});
}

Tensor Attention::turned(const Tensor& x, const Pass& pass) const {
  return config_.rotary == AttentionConfig::no_positions ? x : ops::rope(x, pass.rotary[size_t(config_.rotary)], pairs_);
}

std::optional<nn::KvLayout> Attention::stored() const {
  return nn::KvLayout{.groups = config_.groups, .head = config_.head, .window = config_.window};
}

}  // namespace hearth::parts
