#include "parts/bert/bert.h"

#include <cmath>
#include <numeric>

#include "core/observe.h"

namespace hearth::parts {

BertLayer::BertLayer(const Scope& w, const BertConfig& c)
    : query(w / "attention" / "self" / "query", c.width, c.width),
      key(w / "attention" / "self" / "key", c.width, c.width),
      value(w / "attention" / "self" / "value", c.width, c.width),
      attended(w / "attention" / "output" / "dense", c.width, c.width),
      attention_norm(w / "attention" / "output" / "LayerNorm", c.width, c.eps),
      intermediate(w / "intermediate" / "dense", c.width, c.mlp_width),
      output(w / "output" / "dense", c.mlp_width, c.width),
      output_norm(w / "output" / "LayerNorm", c.width, c.eps),
      config(c),
      path(w.path()) {}

Tensor BertLayer::operator()(const Tensor& x, const std::vector<int64_t>& lengths) const {
  const BlockScope scope(path);
  const auto [B, T, C] = x.dims<3>();
  const Shape split{B, T, config.heads, C / config.heads};
  const AttentionSpec how{.scale = 1.0f / std::sqrt(float(C / config.heads)),
                          .factors = query.weight.form.factors,
                          .key_lengths = lengths,
                          .stored = nn::read_by(attended)};
  const Epilogue queries = nn::inside(queries_of(how.factors, how.scale)), keys = nn::inside(keys_of(how.factors));
  const auto [q, k, v] =
      ops::linears(x, {{query.weight, query.bias, queries}, {key.weight, key.bias, keys}, {value.weight, value.bias, keys}});
  const Tensor y = ops::attention(q.view(split), k.view(split), v.view(split), how);
  const Tensor h = attention_norm(attended(y.view({B, T, C}), {.residual = x}));
  const Tensor out =
      output_norm(output(intermediate(h, {.activation = config.activation, .stored = nn::read_by(output)}), {.residual = h}));
  tap(path, out);
  return out;
}

BertModel::BertModel(const Scope& w, const BertConfig& c)
    : config(c),
      words(w / "embeddings" / "word_embeddings", c.vocabulary, c.width),
      positions(w / "embeddings" / "position_embeddings", c.positions, c.width),
      token_types(w / "embeddings" / "token_type_embeddings", c.token_types, c.width),
      norm(w / "embeddings" / "LayerNorm", c.width, c.eps),
      layers(w / "encoder" / "layer", c.layers, [c](const Scope& layer, int64_t) { return BertLayer(layer, c); }) {}

Tensor BertModel::operator()(const std::vector<std::vector<int32_t>>& ids, const std::vector<int64_t>& lengths) const {
  const int64_t B = int64_t(ids.size()), T = B ? int64_t(ids[0].size()) : 0;
  if (T < 1 || T > config.positions)
    fail<ShapeError>("bert: {} rows of {} tokens, expected 1 to {} tokens (the positions)", B, T, config.positions);
  std::vector<int32_t> tokens;
  for (const std::vector<int32_t>& row : ids) {
    if (int64_t(row.size()) != T) fail<ShapeError>("bert: rows of {} and {} tokens, expected equal lengths", T, row.size());
    for (const int32_t id : row) {
      if (id < 0 || id >= config.vocabulary) fail<UsageError>("bert: token id {} is outside the vocabulary of {}", id, config.vocabulary);
      tokens.push_back(id);
    }
  }
  if (!lengths.empty() && int64_t(lengths.size()) != B)
    fail<ShapeError>("bert: {} lengths for {} rows, expected one for each row", lengths.size(), B);
  for (const int64_t length : lengths)
    if (length < 1 || length > T) fail<ShapeError>("bert: a row's length is {}, expected 1 to {}", length, T);

  Tensor x = in_block("embeddings", [&] {
    std::vector<int32_t> places(size_t(B * T));
    for (int64_t b = 0; b < B; ++b) std::iota(places.begin() + b * T, places.begin() + (b + 1) * T, 0);
    const std::vector<int32_t> types(size_t(B * T), 0);
    return norm(ops::add(ops::add(words(tokens), token_types(types)), positions(places)).view({B, T, config.width}));
  });
  for (const BertLayer& layer : layers) x = layer(x, lengths);
  return x;
}

}  // namespace hearth::parts
