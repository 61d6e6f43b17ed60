#include "mock_parallel/network.h"

#include <cmath>
#include <numeric>

#include "parts/config_reading.h"

namespace hearth::models::mock_parallel {

NetworkConfig NetworkConfig::from(const Config& c) {
  c.only("model_type", {"mock_parallel"});
  c.only("use_parallel_residual", true);
  c.no_effect({"architectures", "eos_token_id"});
  const auto size = [&](const char* key, int64_t otherwise) { return parts::positive_integer(c, key, otherwise); };
  const NetworkConfig n{.vocabulary = size("vocab_size", 1000),
                        .positions = size("n_positions", 2048),
                        .width = size("n_embd", 768),
                        .inner = size("n_inner", 3072),
                        .layers = size("n_layer", 12),
                        .heads = size("n_head", 12),
                        .eps = float(c.number("norm_epsilon", 1e-5))};
  if (n.width % n.heads) fail<WeightError>("{}: 'n_head' = {} does not divide 'n_embd' = {}", c.where(), n.heads, n.width);
  c.finish();
  return n;
}

Block::Block(const Scope& w, const NetworkConfig& c)
    : norm(w / "norm", c.width, c.eps),
      query(w / "attention.query", c.width, c.width),
      key(w / "attention.key", c.width, c.width),
      value(w / "attention.value", c.width, c.width),
      dense(w / "attention.dense", c.width, c.width),
      wide(w / "mlp.wide", c.width, c.inner),
      narrow(w / "mlp.narrow", c.inner, c.width),
      heads(c.heads) {}

Tensor Block::operator()(const Tensor& x, nn::KvPages& keys, const nn::PageTable& table, int64_t first) const {
  const auto [T, C] = x.dims<2>();
  const int64_t D = C / heads;
  const Tensor h = norm(x);
  const auto [q, k, v] = nn::together(h, query, key, value);
  const KeyValues seen = keys.store(table, first, k.view({T, heads, D}), v.view({T, heads, D}));
  const Tensor y = ops::cached_attention(q.view({T, heads, D}), seen, {.scale = 1.0f / std::sqrt(float(D))});
  return narrow(wide(h, {.activation = Activation::gelu}), {.residual = dense(y.view({T, C}), {.residual = x})});
}

Network::Network(const Scope& w, const NetworkConfig& c)
    : config(c),
      words(w / "words", c.vocabulary, c.width),
      places(w / "places", c.positions, c.width),
      norm(w / "norm", c.width, c.eps),
      head(w / "head", c.width, c.vocabulary, nn::Bias::no) {
  for (int64_t i = 0; i < c.layers; ++i) blocks.emplace_back(w / "blocks" / i, c);
}

Cache Network::cache(int64_t context, DType type) const {
  Cache made{.table = std::make_shared<nn::PageTable>(std::make_shared<nn::PagePool>(1), context), .layers = {}};
  const nn::KvLayout layout{.groups = config.heads, .head = config.width / config.heads};
  for (int64_t i = 0; i < config.layers; ++i) made.layers.emplace_back(words.table.backend(), 1, context, layout, type);
  made.table->extend(context);
  return made;
}

Tensor Network::operator()(std::span<const int32_t> ids, Cache& cache, int64_t first) const {
  std::vector<int32_t> at(ids.size());
  std::iota(at.begin(), at.end(), int32_t(first));
  Tensor x = ops::add(words(ids), places(at));
  for (size_t i = 0; i < blocks.size(); ++i) x = blocks[i](x, cache.layers[i], *cache.table, first);
  return head(norm(x));
}

}  // namespace hearth::models::mock_parallel
