#include "parts/t5/t5_encoder.h"

#include <algorithm>
#include <cmath>

#include "core/observe.h"
#include "core/on_host.h"
#include "core/threads.h"

namespace hearth::parts {
namespace {

Tensor t5_normed(const nn::RmsNorm& norm, const Tensor& x, Stored stored) {
  return ops::rms_norm(x, {.gamma = norm.gamma, .eps = norm.eps, .stored = stored});
}

}  // namespace

// In f32, as the reference.
int64_t t5_bucket(int64_t distance, int64_t buckets, int64_t farthest) {
  const int64_t half = buckets / 2, exact = half / 2, first = distance > 0 ? half : 0;
  distance = std::abs(distance);
  if (distance < exact) return first + distance;
  const float part = std::log(float(distance) / float(exact)) / float(std::log(double(farthest) / double(exact))) * float(half - exact);
  return first + std::min(exact + int64_t(part), half - 1);
}

T5Bias::T5Bias(const Scope& w, const T5Config& c)
    : relative_attention_bias(w / "relative_attention_bias", c.buckets, c.heads), buckets(c.buckets), farthest(c.farthest) {}

Tensor T5Bias::operator()(int64_t T) const {
  std::vector<int32_t> ids;  // of each distance
  for (int64_t d = 1 - T; d < T; ++d) ids.push_back(int32_t(t5_bucket(d, buckets, farthest)));
  const Tensor rows = relative_attention_bias(ids);
  const int64_t N = rows.size(1), count = 2 * T - 1;
  const auto spread = [&](float* y, const float* x) {
    rows.backend().threads().for_ranges(N, 1, [&](int64_t n, int64_t) {
      std::vector<float> of_head;
      for (int64_t i = 0; i < count; ++i) of_head.push_back(x[i * N + n]);
      for (int64_t t = 0; t < T; ++t) std::copy_n(of_head.data() + T - 1 - t, T, y + (n * T + t) * T);
    });
  };
  return on_host({1, N, T, T}, spread, rows);
}

T5Attention::T5Attention(const Scope& w, const T5Config& c)
    : q(w / "q", c.width, c.heads * c.head, nn::Bias::no),
      k(w / "k", c.width, c.heads * c.head, nn::Bias::no),
      v(w / "v", c.width, c.heads * c.head, nn::Bias::no),
      o(w / "o", c.heads * c.head, c.width, nn::Bias::no),
      heads(c.heads),
      head(c.head) {}

Tensor T5Attention::operator()(const Tensor& x, const Tensor& residual, const Tensor& bias, const std::vector<int64_t>& lengths) const {
  const int64_t rows = x.size(0), T = bias.size(2);
  const Shape split{rows / T, T, heads, head};
  const AttentionSpec how{.factors = q.weight.form.factors, .bias = bias, .key_lengths = lengths, .stored = nn::read_by(o)};
  const Epilogue read = nn::inside(keys_of(how.factors));  // the scale is 1
  const auto [queries, keys, values] = ops::linears(x, {{q.weight, q.bias, read}, {k.weight, k.bias, read}, {v.weight, v.bias, read}});
  const Tensor y = ops::attention(queries.view(split), keys.view(split), values.view(split), how);
  return o(y.view({rows, heads * head}), {.residual = residual});
}

T5Mlp::T5Mlp(const Scope& w, const T5Config& c)
    : wi(w / (c.gated ? "wi_0" : "wi"), c.width, c.mlp_width, nn::Bias::no),
      wo(w / "wo", c.mlp_width, c.width, nn::Bias::no),
      activation(c.activation) {
  if (c.gated) wi_1.emplace(w / "wi_1", c.width, c.mlp_width, nn::Bias::no);
}

Tensor T5Mlp::operator()(const Tensor& x, const Tensor& residual) const {
  const Stored stored = nn::read_by(wo);
  if (!wi_1) return wo(wi(x, {.activation = activation, .stored = stored}), {.residual = residual});
  const Tensor gate = wi(x, {.activation = activation, .out = DType::f32});
  return wo((*wi_1)(x, {.gate = gate, .stored = stored}), {.residual = residual});
}

T5Block::T5Block(const Scope& w, const T5Config& c, bool has_bias)
    : attention(w / "layer" / 0 / "SelfAttention", c),
      attention_norm(w / "layer" / 0 / "layer_norm", c.width, c.eps),
      mlp(w / "layer" / 1 / "DenseReluDense", c),
      mlp_norm(w / "layer" / 1 / "layer_norm", c.width, c.eps),
      path(w.path()) {
  if (has_bias) bias.emplace(w / "layer" / 0 / "SelfAttention", c);
}

Tensor T5Block::operator()(const Tensor& x, const Tensor& scores, const std::vector<int64_t>& lengths) const {
  const BlockScope scope(path);
  const Tensor h = attention(t5_normed(attention_norm, x, nn::read_by(attention.q, attention.k, attention.v)), x, scores, lengths);
  const Tensor y = mlp(t5_normed(mlp_norm, h, mlp.wi_1 ? nn::read_by(mlp.wi, *mlp.wi_1) : nn::read_by(mlp.wi)), h);
  tap(path, y);
  return y;
}

T5EncoderModel::T5EncoderModel(const Scope& w, const T5Config& c)
    : config(c),
      shared(w / "shared", c.vocabulary, c.width),
      blocks(w / "encoder" / "block", c.layers, [c](const Scope& block, int64_t i) { return T5Block(block, c, i == 0 || c.every_layer); }),
      final_layer_norm(w / "encoder" / "final_layer_norm", c.width, c.eps) {}

Tensor T5EncoderModel::operator()(const std::vector<std::vector<int32_t>>& ids, const std::vector<int64_t>& lengths) const {
  const int64_t B = int64_t(ids.size()), T = B ? int64_t(ids[0].size()) : 0;
  if (T < 1) fail<ShapeError>("t5: {} rows of {} tokens, expected at least one token", B, T);
  std::vector<int32_t> tokens;
  for (const std::vector<int32_t>& row : ids) {
    if (int64_t(row.size()) != T) fail<ShapeError>("t5: rows of {} and {} tokens, expected equal lengths", T, row.size());
    for (const int32_t id : row) {
      if (id < 0 || id >= config.vocabulary) fail<UsageError>("t5: token id {} is outside the vocabulary of {}", id, config.vocabulary);
      tokens.push_back(id);
    }
  }
  if (!lengths.empty() && int64_t(lengths.size()) != B)
    fail<ShapeError>("t5: {} lengths for {} rows, expected one for each row", lengths.size(), B);
  for (const int64_t length : lengths)
    if (length < 1 || length > T) fail<ShapeError>("t5: a row's length is {}, expected 1 to {}", length, T);

  Tensor x = in_block("shared", [&] { return shared(tokens); });
  Tensor bias;
  for (const T5Block& block : blocks) {
    if (block.bias) bias = (*block.bias)(T);
    x = block(x, bias, lengths);
  }
  const Tensor y = in_block("encoder.final_layer_norm", [&] { return final_layer_norm(x); });
  return y.view({B, T, config.width});
}

}  // namespace hearth::parts
