#include "parts/decoder/decoder.h"

#include <cmath>

#include "core/observe.h"
#include "ops/rope.h"

namespace hearth::parts {
namespace {

nn::Bias bias(bool there) { return there ? nn::Bias::yes : nn::Bias::no; }

}  // namespace

DecoderAttention::DecoderAttention(const Scope& w, const DecoderConfig& c)
    : q_proj(w / "q_proj", c.width, c.heads * c.head, bias(c.qkv_bias)),
      k_proj(w / "k_proj", c.width, c.groups * c.head, bias(c.qkv_bias)),
      v_proj(w / "v_proj", c.width, c.groups * c.head, bias(c.qkv_bias)),
      o_proj(w / "o_proj", c.heads * c.head, c.width, bias(c.o_bias)),
      heads(c.heads),
      groups(c.groups),
      head(c.head) {
  if (!c.qk_norm) return;
  q_norm.emplace(w / "q_norm", c.head, c.eps);
  k_norm.emplace(w / "k_norm", c.head, c.eps);
}

Tensor DecoderAttention::operator()(const Tensor& x, const Tensor& residual, const RotaryTable& rotary, nn::KvCache& cache,
                                    int64_t first) const {
  const int64_t T = x.size(0);
  auto [q, k, v] = nn::together(x, q_proj, k_proj, v_proj);
  q = q.view({T, heads, head}), k = k.view({T, groups, head}), v = v.view({T, groups, head});
  if (q_norm) q = (*q_norm)(q), k = (*k_norm)(k);
  q = ops::rope(q, rotary.table, rotary.pairs);
  k = ops::rope(k, rotary.table, rotary.pairs);
  const Tensor y = ops::cached_attention(q, cache.store(first, k, v), {.scale = 1.0f / std::sqrt(float(head))});
  return o_proj(y.view({T, heads * head}), {.residual = residual});
}

DecoderMlp::DecoderMlp(const Scope& w, const DecoderConfig& c)
    : gate_proj(w / "gate_proj", c.width, c.mlp_width, bias(c.mlp_bias)),
      up_proj(w / "up_proj", c.width, c.mlp_width, bias(c.mlp_bias)),
      down_proj(w / "down_proj", c.mlp_width, c.width, bias(c.mlp_bias)),
      activation(c.activation) {}

Tensor DecoderMlp::operator()(const Tensor& x, const Tensor& residual) const {
  return down_proj(up_proj(x, {.gate = gate_proj(x, {.activation = activation})}), {.residual = residual});
}

DecoderLayer::DecoderLayer(const Scope& w, const DecoderConfig& c)
    : input_layernorm(w / "input_layernorm", c.width, c.eps),
      self_attn(w / "self_attn", c),
      post_attention_layernorm(w / "post_attention_layernorm", c.width, c.eps),
      mlp(w / "mlp", c),
      path(w.path()) {}

Tensor DecoderLayer::operator()(const Tensor& x, const RotaryTable& rotary, nn::KvCache& cache, int64_t first) const {
  const BlockScope scope(path);
  const Tensor h = self_attn(input_layernorm(x), x, rotary, cache, first);
  const Tensor y = mlp(post_attention_layernorm(h), h);
  tap(path, y);
  return y;
}

Decoder::Decoder(const Scope& w, const DecoderConfig& c)
    : config(c), embed_tokens(w / "model" / "embed_tokens", c.vocabulary, c.width), norm(w / "model" / "norm", c.width, c.eps) {
  for (int64_t i = 0; i < c.layers; ++i) layers.emplace_back(w / "model" / "layers" / i, c);
  lm_head = (c.tied ? w / "model" / "embed_tokens" : w / "lm_head").linear("weight", c.vocabulary, c.width);
}

DecoderState Decoder::start(int64_t context, DType cache) const {
  DecoderState state;
  for (const int64_t window : config.windows)
    state.layers.emplace_back(embed_tokens.table.backend(), capacity(context, window), config.groups, config.head, cache, window);
  return state;
}

int64_t Decoder::state_bytes(int64_t context, DType cache) const {
  int64_t bytes = 0;
  for (const int64_t window : config.windows)
    bytes += 2 * int64_t(bytes_of(cache, capacity(context, window) * config.groups * config.head));
  return bytes;
}

Tensor Decoder::hidden(std::span<const int32_t> ids, DecoderState& state, int64_t length) const {
  Backend& backend = embed_tokens.table.backend();
  const int64_t T = int64_t(ids.size()), first = state.length;
  for (const int32_t id : ids)
    if (id < 0 || id >= config.vocabulary) fail<UsageError>("decoder: token id {} is outside the vocabulary of {}", id, config.vocabulary);
  Tensor x = in_block("model.embed_tokens", [&] { return embed_tokens(ids); });
  const RotaryTable rotary{config.rotary.table(backend, first, T, length), config.pairs};
  for (size_t i = 0; i < layers.size(); ++i) x = layers[i](x, rotary, state.layers[i], first);
  state.length += T;
  return in_block("model.norm", [&] { return norm(x); });
}

}  // namespace hearth::parts
