#include "parts/decoder/attention.h"

#include <cmath>

#include "ops/rope.h"

namespace hearth::parts {
namespace {

nn::Bias bias_if(bool there) { return there ? nn::Bias::yes : nn::Bias::no; }

struct AttentionState final : BlockState {
  explicit AttentionState(nn::KvCache c) : cache(std::move(c)) {}
  int64_t bytes() const override { return cache.bytes(); }
  int64_t reachable(int64_t stored, int64_t length) const override { return cache.can_shorten(stored, length) ? length : 0; }

  nn::KvCache cache;
};

}  // namespace

Attention::Attention(const Scope& w, int64_t width, const std::vector<RotaryConfig>& rotaries, const AttentionConfig& c)
    : config_(c),
      backend_(&w.backend()),
      q_proj_(w / "q_proj", width, c.heads * c.head, bias_if(c.qkv_bias)),
      k_proj_(w / "k_proj", width, c.groups * c.head, bias_if(c.qkv_bias)),
      v_proj_(w / "v_proj", width, c.groups * c.head, bias_if(c.qkv_bias)),
      o_proj_(w / "o_proj", c.heads * c.head, width, bias_if(c.o_bias)) {
  if (c.rotary != AttentionConfig::no_positions) pairs_ = rotaries.at(size_t(c.rotary)).pairs;
  if (c.scale == 0) config_.scale = 1.0f / std::sqrt(float(c.head));
  if (!c.qk_norm) return;
  q_norm_.emplace(w / "q_norm", c.head, *c.qk_norm);
  k_norm_.emplace(w / "k_norm", c.head, *c.qk_norm);
}

Tensor Attention::operator()(const Tensor& x, const Tensor& residual, const Pass& pass, BlockState* state) const {
  const auto& [T, N, G, D] = std::array{x.size(0), config_.heads, config_.groups, config_.head};
  auto [q, k, v] = nn::together(x, q_proj_, k_proj_, v_proj_);
  q = q.view({T, N, D}), k = k.view({T, G, D}), v = v.view({T, G, D});
  if (q_norm_) q = (*q_norm_)(q), k = (*k_norm_)(k);
  q = turned(q, pass), k = turned(k, pass);
  const KeyValues seen = static_cast<AttentionState&>(*state).cache.store(pass.first, k, v);
  const Tensor y = ops::cached_attention(q, seen, {.scale = config_.scale});
  return o_proj_(y.view({T, N * D}), {.residual = residual});
}

Tensor Attention::turned(const Tensor& x, const Pass& pass) const {
  return config_.rotary == AttentionConfig::no_positions ? x : ops::rope(x, pass.rotary[size_t(config_.rotary)], pairs_);
}

std::unique_ptr<BlockState> Attention::start(int64_t context, DType cache) const {
  return std::make_unique<AttentionState>(nn::KvCache(*backend_, capacity(context), config_.groups, config_.head, cache, config_.window));
}

int64_t Attention::state_bytes(int64_t context, DType cache) const {
  return 2 * int64_t(bytes_of(cache, capacity(context) * config_.groups * config_.head));
}

int64_t Attention::capacity(int64_t context) const {
  return config_.window && config_.window + chunk - 1 < context ? config_.window + chunk - 1 : context;
}

}  // namespace hearth::parts
