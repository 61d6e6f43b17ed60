#include "models/pixart/transformer.h"

#include <cmath>

#include "core/observe.h"
#include "core/on_host.h"
#include "nn/timestep_embedding.h"

namespace hearth::models::pixart {
namespace {

constexpr float last_eps = 1e-6f;
constexpr int64_t time_channels = 256;

nn::Bias bias_if(bool has) { return has ? nn::Bias::yes : nn::Bias::no; }

// The Scope of adaln_single, whose `linear` is a layer of its own.
Scope adaln(const Scope& w) { return w / "adaln_single"; }

}  // namespace

Tensor sine_positions(Backend& backend, int64_t rows, int64_t columns, int64_t width, int64_t base, double interpolation) {
  const int64_t quarter = width / 4;
  // Coordinates are f32 in the reference, angles f64.
  const auto coordinates = [&](int64_t count) {
    std::vector<double> all;
    for (int64_t i = 0; i < count; ++i) all.push_back(float(i) / float(double(count) / double(base)) / float(interpolation));
    return all;
  };
  const Tensor y = written_on_host(backend, {1, rows, columns, width}, DType::f32, [&](Tensor& to) {
    std::vector<double> frequencies;
    for (int64_t i = 0; i < quarter; ++i) frequencies.push_back(1 / std::pow(10000.0, double(i) / double(quarter)));
    const auto halves = [&](double position) {
      std::vector<float> half;
      for (const double f : frequencies) half.push_back(float(std::sin(position * f)));
      for (const double f : frequencies) half.push_back(float(std::cos(position * f)));
      return half;
    };
    std::vector<std::vector<float>> of_rows, of_columns;
    for (const double r : coordinates(rows)) of_rows.push_back(halves(r));
    for (const double c : coordinates(columns)) of_columns.push_back(halves(c));
    float* out = to.data<float>();
    for (const auto& row : of_rows)
      for (const auto& column : of_columns) {
        out = std::copy(column.begin(), column.end(), out);
        out = std::copy(row.begin(), row.end(), out);
      }
  });
  return y.to(backend);
}

Attention::Attention(const Scope& w, const TransformerConfig& c, int64_t of_keys)
    : q(w / "to_q", c.width(), c.width(), bias_if(c.attention_bias)),
      k(w / "to_k", of_keys, c.width(), bias_if(c.attention_bias)),
      v(w / "to_v", of_keys, c.width(), bias_if(c.attention_bias)),
      out(w / "to_out" / 0, c.width(), c.width()),
      heads(c.heads),
      head_size(c.head_size) {}

Tensor Attention::operator()(const Tensor& x, const Tensor& y, const std::vector<int64_t>& lengths) const {
  const int64_t B = x.size(0), T = x.size(1), L = y.size(1);
  const AttentionSpec how{
      .scale = 1.0f / std::sqrt(float(head_size)), .factors = q.weight.form.factors, .key_lengths = lengths, .stored = nn::read_by(out)};
  const Epilogue read = nn::inside(keys_of(how.factors));
  const Tensor queries = q(x, nn::inside(queries_of(how.factors, how.scale)));
  const auto [keys, values] = ops::linears(y, {{k.weight, k.bias, read}, {v.weight, v.bias, read}});
  const Tensor attended = ops::attention(queries.view({B, T, heads, head_size}), keys.view({B, L, heads, head_size}),
                                         values.view({B, L, heads, head_size}), how);
  return attended.view({B, T, heads * head_size});
}

Block::Block(const Scope& w, const TransformerConfig& c)
    : table(w, c.width(), 6),
      self(w / "attn1", c, c.width()),
      cross(w / "attn2", c, c.projects_text ? c.width() : c.text),
      proj(w / "ff" / "net" / 0 / "proj", c.width(), 4 * c.width()),
      mlp_out(w / "ff" / "net" / 2, 4 * c.width(), c.width()),
      eps(c.eps),
      path(w.path()) {}

Tensor Block::operator()(const Tensor& x, const Tensor& shared, const Tensor& text, const std::vector<int64_t>& lengths) const {
  const BlockScope scope(path);
  const nn::Modulation::Vectors m = table(shared);
  const Tensor normed = m.norm(x, 0, 1, eps, nn::read_by(self.q, self.k, self.v));
  Tensor y = self.out(self(normed, normed, {}), {.gate = m.gate(2), .residual = x});
  y = cross.out(cross(y, text, lengths), {.residual = y});
  y = mlp_out(proj(m.norm(y, 3, 4, eps, nn::read_by(proj)), {.activation = Activation::gelu_tanh, .stored = nn::read_by(mlp_out)}),
              {.gate = m.gate(5), .residual = y});
  tap(path, y);
  return y;
}

Transformer::Transformer(const Scope& w, const TransformerConfig& c)
    : config(c),
      patches(w / "pos_embed" / "proj", c.in_channels, c.width(), c.patch, ConvSpec::plane(c.patch)),
      timestep_embedder(adaln(w) / "emb" / "timestep_embedder", time_channels, c.width()),
      shared(adaln(w), c.width(), 6),
      blocks(w / "transformer_blocks", c.layers, [c](const Scope& block, int64_t) { return Block(block, c); }),
      last(w, c.width(), 2),
      proj_out(w / "proj_out", c.width(), c.patch * c.patch * c.out_channels) {
  if (c.conditions) {
    resolution_embedder.emplace(adaln(w) / "emb" / "resolution_embedder", time_channels, c.width() / 3);
    aspect_ratio_embedder.emplace(adaln(w) / "emb" / "aspect_ratio_embedder", time_channels, c.width() / 3);
  }
  if (!c.projects_text) return;
  text_1.emplace(w / "caption_projection" / "linear_1", c.text, c.width());
  text_2.emplace(w / "caption_projection" / "linear_2", c.width(), c.width());
}

void Transformer::check(const Tensor& x, const Inputs& in) const {
  const auto [B, h, w, C] = x.dims<4>();
  const int64_t p = config.patch;
  if (C != config.in_channels) fail<ShapeError>("pixart: x is {}, expected {} channels", x.shape(), config.in_channels);
  if (h < 1 || w < 1 || h % p != 0 || w % p != 0)
    fail<ShapeError>("pixart: x is {}, expected sides that are multiples of {}", x.shape(), p);
  if (int64_t(in.timesteps.size()) != B && in.timesteps.size() != 1)
    fail<ShapeError>("pixart: {} timesteps, expected 1 or one for each of {} images", in.timesteps.size(), B);
  if (in.text.rank() != 3 || in.text.size(0) != B || in.text.size(2) != config.text)
    fail<ShapeError>("pixart: the text is {}, expected [{}, L, {}]", in.text.shape(), B, config.text);
  if (!in.lengths.empty() && int64_t(in.lengths.size()) != B)
    fail<ShapeError>("pixart: {} lengths of texts, expected one for each of {} images", in.lengths.size(), B);
}

// → [B, W]
Tensor Transformer::embed(Backend& backend, int64_t B, const Inputs& in) const {
  const std::vector<float> each = in.timesteps.size() == 1 ? std::vector<float>(size_t(B), in.timesteps[0])
                                                           : std::vector<float>(in.timesteps.begin(), in.timesteps.end());
  return in_block("adaln_single.emb", [&] {
    Tensor size;
    if (config.conditions) {
      const auto embedded = [&](const nn::EmbeddingMlp& mlp, float value) {
        return mlp(nn::embed_timesteps(backend, {&value, 1}, {.channels = time_channels}));
      };
      const Tensor one = ops::concat({embedded(*resolution_embedder, in.height), embedded(*resolution_embedder, in.width),
                                      embedded(*aspect_ratio_embedder, float(double(in.height) / double(in.width)))},
                                     1);
      size = B == 1 ? one : ops::repeat_batch(one, B);
    }
    return timestep_embedder(nn::embed_timesteps(backend, each, {.channels = time_channels}), size);
  });
}

Tensor Transformer::operator()(const Tensor& x, const Inputs& in) const {
  check(x, in);
  const int64_t B = x.size(0), p = config.patch, rows = x.size(1) / p, columns = x.size(2) / p, W = config.width();
  Backend& backend = x.backend();
  Tensor y = in_block("pos_embed", [&] {
    const Tensor positions = sine_positions(backend, rows, columns, W, config.base(), config.interpolation);
    return patches(x, {.residual = B == 1 ? positions : ops::repeat_batch(positions, B)}).view({B, rows * columns, W});
  });
  const Tensor embedding = embed(backend, B, in);
  const Tensor vectors = in_block("adaln_single.linear", [&] { return shared.linear(ops::activate(embedding, Activation::silu)); });
  const Tensor text = !text_1 ? in.text : in_block("caption_projection", [&] {
    return (*text_2)((*text_1)(in.text, {.activation = Activation::gelu_tanh, .stored = nn::read_by(*text_2)}));
  });
  for (const Block& block : blocks) y = block(y, vectors, text, in.lengths);

  const nn::Modulation::Vectors m = last(ops::concat({embedding, embedding}, 1));
  const Tensor normed = in_block("norm_out", [&] { return m.norm(y, 0, 1, last_eps, Stored::inner); });
  // The values of a token are ordered row, column, channel of its patch.
  const Tensor tokens = proj_out(normed, {.out = x.dtype()}).view({B * rows, columns, p, p * config.out_channels});
  std::vector<Tensor> lines;
  for (int64_t i = 0; i < p; ++i) lines.push_back(tokens.slice(2, i, i + 1));
  return ops::concat(lines, 1).view({B, rows * p, columns * p, config.out_channels});
}

}  // namespace hearth::models::pixart
