#include "parts/decoder/latent_attention.h"

#include <cmath>

#include "ops/rope.h"

namespace hearth::parts {
namespace {

// Each head by its own matrix.   x [T, N, in], the last axis dense → [T, N, out]
Tensor by_head(const Tensor& x, const std::vector<Projection>& heads) {
  const int64_t T = x.size(0);
  std::vector<Tensor> results;
  for (size_t n = 0; n < heads.size(); ++n) {
    const Tensor of_head = ops::contiguous(x.slice(1, int64_t(n), int64_t(n) + 1)).view({T, x.size(2)});
    results.push_back(heads[n](of_head).view({T, 1, heads[n].weight.out()}));
  }
  return results.size() == 1 ? results[0] : ops::concat(results, 1);
}

}  // namespace

LatentAttention::LatentAttention(const Scope& w, int64_t width, const std::vector<RotaryConfig>& rotaries, const LatentAttentionConfig& c)
    : config_(c),
      pairs_(rotaries.at(size_t(c.rotary)).pairs),
      q_(w / (c.query_latent ? "q_b_proj" : "q_proj"), c.query_latent ? c.query_latent : width, c.heads * (c.plain + c.turned), false),
      kv_a_(w / "kv_a_proj_with_mqa", width, c.latent + c.turned, c.bias),
      kv_a_norm_(w / "kv_a_layernorm", c.latent, c.norm),
      o_(w / "o_proj", c.heads * c.value, width, c.bias) {
  if (c.scale == 0) config_.scale = 1.0f / std::sqrt(float(c.plain + c.turned));
  if (c.query_latent) {
    q_a_.emplace(w / "q_a_proj", width, c.query_latent, c.bias);
    q_a_norm_.emplace(w / "q_a_layernorm", c.query_latent, c.norm);
  }
  for (int64_t n = 0; n < c.heads; ++n) {
    k_b_.emplace_back(w / "k_b" / n, c.plain, c.latent, false);
    v_b_.emplace_back(w / "v_b" / n, c.latent, c.value, false);
  }
}

Tensor LatentAttention::queries(const Tensor& x, const Pass& pass) const {
  const auto& [T, N, P, R] = std::array{x.size(0), config_.heads, config_.plain, config_.turned};
  const Tensor q = (q_a_ ? q_((*q_a_norm_)((*q_a_)(x))) : q_(x)).view({T, N, P + R});
  const Tensor turned = ops::rope(q.slice(2, P, P + R), pass.rotary[size_t(config_.rotary)], pairs_);
  return ops::concat({by_head(q.slice(2, 0, P), k_b_), turned}, 2);
}

Tensor LatentAttention::keys(const Tensor& x, const Pass& pass) const {
  const auto& [T, L, R] = std::array{x.size(0), config_.latent, config_.turned};
  const Tensor both = kv_a_(x);
  const Tensor latent = kv_a_norm_(ops::contiguous(both.slice(1, 0, L)));
  const Tensor turned = ops::rope(both.slice(1, L, L + R).with_axis(1), pass.rotary[size_t(config_.rotary)], pairs_);
  return ops::concat({latent.view({T, 1, L}), turned}, 2);
}

Tensor LatentAttention::operator()(const Tensor& x, const Tensor& residual, const Pass& pass, States states) const {
  const auto seen = stored_keys(pass, states, keys(x, pass));
  const Tensor y = by_head(ops::cached_attention(queries(x, pass), seen, {.scale = config_.scale}), v_b_);
  return o_(y.view({x.size(0), config_.heads * config_.value}), {.residual = residual});
}

std::optional<nn::KvLayout> LatentAttention::stored() const {
  return nn::KvLayout{.groups = 1, .head = config_.latent + config_.turned, .latent = config_.latent};
}

}  // namespace hearth::parts
