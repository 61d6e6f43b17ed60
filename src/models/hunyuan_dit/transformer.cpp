#include "models/hunyuan_dit/transformer.h"

#include <cmath>

#include "core/observe.h"
#include "core/on_host.h"
#include "nn/timestep_embedding.h"
#include "ops/rope.h"

namespace hearth::models::hunyuan_dit {
namespace {

constexpr float eps = 1e-6f;
constexpr int64_t time_channels = 256, pooler_heads = 8;

Scope extra(const Scope& w) { return w / "time_extra_emb"; }

int64_t extra_width(const TransformerConfig& c) { return c.pooled + (c.conditions ? 6 * time_channels + c.width() : 0); }

// As torch.linspace, from both ends.
std::vector<float> spaced(float from, float to, int64_t count) {
  std::vector<float> all;
  const float step = count > 1 ? (to - from) / float(count - 1) : 0;
  for (int64_t i = 0; i < count; ++i)
    all.push_back(i < count / 2 || count == 1 ? from + step * float(i) : to - step * float(count - 1 - i));
  return all;
}

// The mean of the rows.   x [B, L, C] → [B, 1, C]
Tensor mean_of_rows(const Tensor& x) {
  const int64_t B = x.size(0), L = x.size(1), C = x.size(2);
  const auto mean = [&](float* y, const float* from) {
    for (int64_t b = 0; b < B; ++b)
      for (int64_t c = 0; c < C; ++c) {
        double sum = 0;
        for (int64_t l = 0; l < L; ++l) sum += from[(b * L + l) * C + c];
        y[b * C + c] = float(sum / double(L));
      }
  };
  return on_host({B, 1, C}, mean, x);
}

Tensor of_each(const Tensor& one, int64_t B) { return B == 1 ? one : ops::repeat_batch(one, B); }

}  // namespace

Tensor rotary_table(Backend& backend, int64_t rows, int64_t columns, int64_t head_size, int64_t base) {
  // The longer side fills the square. Python rounds halves to even.
  const auto side = [&](int64_t own, int64_t other) {
    return own > other || own == other ? base : int64_t(std::nearbyint(double(base) / double(other) * double(own)));
  };
  const int64_t height = side(rows, columns), width = side(columns, rows);
  const auto places = [&](int64_t extent, int64_t count) {
    const auto start = double(int64_t(std::nearbyint(double(base - extent) / 2)));
    return spaced(float(start), float((start + double(extent)) * double(count - 1) / double(count)), count);
  };
  const std::vector<float> of_rows = places(height, rows), of_columns = places(width, columns);
  const int64_t half = head_size / 2, quarter = head_size / 4;
  const Tensor table = written_on_host(backend, {1, rows * columns, 1, 2, half}, DType::f32, [&](Tensor& y) {
    std::vector<float> frequencies;
    for (int64_t i = 0; i < quarter; ++i) frequencies.push_back(1.0f / std::pow(10000.0f, float(2 * i) / float(half)));
    float* out = y.data<float>();
    for (const float row : of_rows)
      for (const float column : of_columns)
        for (float (*function)(float) : {static_cast<float (*)(float)>(std::cos), static_cast<float (*)(float)>(std::sin)})
          for (const float place : {column, row})
            for (const float f : frequencies) *out++ = function(place * f);
  });
  return table.to(backend);
}

Tensor embed_sizes(Backend& backend, const SizeConditions& sizes) {
  return nn::embed_timesteps(backend, sizes, {.channels = time_channels}).view({1, 6 * time_channels});
}

Attention::Attention(const Scope& w, const TransformerConfig& c, int64_t of_keys)
    : q(w / "to_q", c.width(), c.width()),
      k(w / "to_k", of_keys, c.width()),
      v(w / "to_v", of_keys, c.width()),
      norm_q(w / "norm_q", c.head_size, eps),
      norm_k(w / "norm_k", c.head_size, eps),
      out(w / "to_out" / 0, c.width(), c.width()),
      heads(c.heads),
      head_size(c.head_size) {}

Tensor Attention::operator()(const Tensor& x, const Tensor& y, const Tensor& table, bool self) const {
  const int64_t B = x.size(0), T = x.size(1), L = y.size(1);
  const auto [keys, values] =
      ops::linears(y, {{k.weight, k.bias, nn::inner}, {v.weight, v.bias, nn::inside(keys_of(q.weight.form.factors))}});
  const Tensor queries = ops::rope(norm_q(q(x, nn::inner).view({B, T, heads, head_size})), table, RotaryPairs::neighbors);
  const Tensor normed = norm_k(keys.view({B, L, heads, head_size}));
  return ops::attention(queries, self ? ops::rope(normed, table, RotaryPairs::neighbors) : normed, values.view({B, L, heads, head_size}),
                        {.scale = 1.0f / std::sqrt(float(head_size)), .factors = q.weight.form.factors, .stored = nn::read_by(out)})
      .view({B, T, heads * head_size});
}

Block::Block(const Scope& w, const TransformerConfig& c, bool skips)
    : shift((w / "norm1" / "linear").exact(), c.width(), c.width()),
      norm1(w / "norm1" / "norm", c.width(), eps),
      norm2(w / "norm2", c.width(), eps),
      norm3(w / "norm3", c.width(), eps),
      self(w / "attn1", c, c.width()),
      cross(w / "attn2", c, c.text),
      proj(w / "ff" / "net" / 0 / "proj", c.width(), c.mlp_width()),
      mlp_out(w / "ff" / "net" / 2, c.mlp_width(), c.width()),
      path(w.path()) {
  if (!skips) return;
  skip_norm.emplace(w / "skip_norm", 2 * c.width(), eps);
  skip_linear.emplace(w / "skip_linear", 2 * c.width(), c.width());
}

Tensor Block::operator()(const Tensor& x, const Tensor& embedding, const Tensor& text, const Tensor& table, const Tensor& skip) const {
  const BlockScope scope(path);
  const Tensor stream =
      skip_linear ? (*skip_linear)((*skip_norm)(ops::concat({x, skip}, 2), nn::read_by(*skip_linear)), {.out = DType::f32}) : x;
  const Tensor normed = ops::layer_norm(
      stream,
      {.gamma = norm1.gamma, .beta = norm1.beta, .eps = eps, .shift = shift(embedding), .stored = nn::read_by(self.q, self.k, self.v)});
  Tensor y = self.out(self(normed, normed, table, true), {.residual = stream});
  y = cross.out(cross(norm2(y, nn::read_by(cross.q)), text, table, false), {.residual = y});
  y = mlp_out(proj(norm3(y, nn::read_by(proj)), {.activation = Activation::gelu_tanh, .stored = nn::read_by(mlp_out)}), {.residual = y});
  tap(path, y);
  return y;
}

Pooler::Pooler(const Scope& w, const TransformerConfig& c)
    : positions(w.tensor("positional_embedding", {1 + c.t5_rows, c.t5})),
      q((w / "q_proj").exact(), c.t5, c.t5),
      k((w / "k_proj").exact(), c.t5, c.t5),
      v((w / "v_proj").exact(), c.t5, c.t5),
      out((w / "c_proj").exact(), c.t5, c.pooled) {}

Tensor Pooler::operator()(const Tensor& x) const {
  const int64_t B = x.size(0), L = x.size(1) + 1, C = x.size(2), D = C / pooler_heads;
  const Tensor rows = ops::add(ops::concat({mean_of_rows(x), x}, 1), of_each(positions.view({1, L, C}), B));
  const Tensor first = ops::contiguous(rows.slice(1, 0, 1));
  const Tensor y = ops::attention(q(first).view({B, 1, pooler_heads, D}), k(rows).view({B, L, pooler_heads, D}),
                                  v(rows).view({B, L, pooler_heads, D}), {.scale = 1.0f / std::sqrt(float(D))});
  return out(y.view({B, C}));
}

Stem::Stem(const Scope& w, const TransformerConfig& c)
    : config(c),
      text_1(w / "text_embedder" / "linear_1", c.t5, 4 * c.t5),
      text_2(w / "text_embedder" / "linear_2", 4 * c.t5, c.text),
      padding(w.tensor("text_embedding_padding", {c.text_rows + c.t5_rows, c.text})),
      patches(w / "pos_embed" / "proj", c.in_channels, c.width(), c.patch, ConvSpec::plane(c.patch)),
      timestep_embedder(extra(w) / "timestep_embedder", time_channels, c.width()),
      pooler(extra(w) / "pooler", c),
      style(c.conditions ? (extra(w) / "style_embedder").tensor("weight", {1, c.width()}) : Tensor()),
      extra_1((extra(w) / "extra_embedder" / "linear_1").exact(), extra_width(c), 4 * c.width()),
      extra_2((extra(w) / "extra_embedder" / "linear_2").exact(), 4 * c.width(), c.width()) {}

void Stem::check(const Tensor& x, const Inputs& in) const {
  const auto [B, h, w, C] = x.dims<4>();
  const int64_t p = config.patch;
  if (C != config.in_channels) fail<ShapeError>("hunyuan_dit: x is {}, expected {} channels", x.shape(), config.in_channels);
  if (h < 1 || w < 1 || h % p != 0 || w % p != 0)
    fail<ShapeError>("hunyuan_dit: x is {}, expected sides that are multiples of {}", x.shape(), p);
  if (int64_t(in.timesteps.size()) != B && in.timesteps.size() != 1)
    fail<ShapeError>("hunyuan_dit: {} timesteps, expected 1 or one for each of {} images", in.timesteps.size(), B);
  if (in.text.shape() != Shape{B, config.text_rows, config.text})
    fail<ShapeError>("hunyuan_dit: the text is {}, expected [{}, {}, {}]", in.text.shape(), B, config.text_rows, config.text);
  if (in.t5.shape() != Shape{B, config.t5_rows, config.t5})
    fail<ShapeError>("hunyuan_dit: T5's text is {}, expected [{}, {}, {}]", in.t5.shape(), B, config.t5_rows, config.t5);
  if (config.conditions && in.sizes.shape() != Shape{B, 6 * time_channels})
    fail<ShapeError>("hunyuan_dit: the sizes are {}, expected [{}, {}]", in.sizes.shape(), B, 6 * time_channels);
  const auto check_lengths = [B = B](const std::vector<int64_t>& lengths, int64_t rows) {
    if (int64_t(lengths.size()) != B)
      fail<ShapeError>("hunyuan_dit: {} lengths of texts, expected one for each of {} images", lengths.size(), B);
    for (const int64_t length : lengths)
      if (length < 0 || length > rows) fail<ShapeError>("hunyuan_dit: a text has {} rows, expected 0 to {}", length, rows);
  };
  check_lengths(in.text_lengths, config.text_rows), check_lengths(in.t5_lengths, config.t5_rows);
}

Tensor Stem::tokens(const Tensor& x) const {
  const auto [B, h, w, C] = x.dims<4>();
  return in_block("pos_embed", [&, B = B, T = h / config.patch * (w / config.patch)] { return patches(x).view({B, T, config.width()}); });
}

Tensor Stem::rotations(const Tensor& x) const {
  const int64_t p = config.patch;
  return rotary_table(x.backend(), x.size(1) / p, x.size(2) / p, config.head_size, 512 / 8 / p);
}

Tensor Stem::embedding(const Tensor& x, const Inputs& in) const {
  const int64_t B = x.size(0);
  const std::vector<float> each = in.timesteps.size() == 1 ? std::vector<float>(size_t(B), in.timesteps[0])
                                                           : std::vector<float>(in.timesteps.begin(), in.timesteps.end());
  const Tensor pooled = in_block("time_extra_emb.pooler", [&] { return pooler(in.t5); });
  const Tensor embedded = in_block("time_extra_emb", [&] {
    Tensor all = pooled;
    if (config.conditions) { all = ops::concat({pooled, in.sizes, of_each(style, B)}, 1); }
    return timestep_embedder(nn::embed_timesteps(x.backend(), each, {.channels = time_channels}),
                             extra_2(extra_1(all, {.activation = Activation::silu})));
  });
  return ops::activate(embedded, Activation::silu);
}

// Learned rows stand in the places of padding.
Tensor Stem::context(const Tensor& x, const Inputs& in) const {
  const int64_t B = x.size(0);
  const Tensor projected = in_block("text_embedder", [&] {
    return text_2(text_1(in.t5, {.activation = Activation::silu, .stored = nn::read_by(text_2)}), {.out = DType::f32});
  });
  const int64_t L = config.text_rows, L5 = config.t5_rows;
  const Tensor learned = padding.view({1, L + L5, config.text});
  std::vector<Tensor> texts;
  for (int64_t b = 0; b < B; ++b) {
    std::vector<Tensor> parts;
    const auto add = [&](const Tensor& rows, int64_t length, int64_t first, int64_t count) {
      if (length > 0) parts.push_back(rows.slice(0, b, b + 1).slice(1, 0, length));
      if (length < count) parts.push_back(learned.slice(1, first + length, first + count));
    };
    add(in.text, in.text_lengths[size_t(b)], 0, L);
    add(projected, in.t5_lengths[size_t(b)], L, L5);
    texts.push_back(ops::concat(parts, 1));
  }
  return texts.size() == 1 ? texts[0] : ops::concat(texts, 0);
}

Transformer::Transformer(const Scope& w, const TransformerConfig& c)
    : config(c),
      stem(w, c),
      blocks(w / "blocks", c.layers, [c](const Scope& block, int64_t i) { return Block(block, c, i > c.layers / 2); }),
      norm_out(w / "norm_out", c.width(), 2),
      proj_out(w / "proj_out", c.width(), c.patch * c.patch * 2 * c.in_channels) {}

Tensor Transformer::operator()(const Tensor& x, const Inputs& in, std::span<const Tensor> added) const {
  stem.check(x, in);
  if (!added.empty() && std::ssize(added) != config.skips())
    fail<ShapeError>("hunyuan_dit: {} tensors are added to the skips, expected {}", added.size(), config.skips());
  const int64_t B = x.size(0), p = config.patch, rows = x.size(1) / p, columns = x.size(2) / p;
  Tensor y = stem.tokens(x);
  const Tensor embedding = stem.embedding(x, in), text = stem.context(x, in), table = stem.rotations(x);
  std::vector<Tensor> skips;
  const int64_t middle = config.layers / 2;
  int64_t layer = 0;
  for (const Block& block : blocks) {
    Tensor skip;
    if (layer > middle) skip = skips.back(), skips.pop_back();
    y = block(y, embedding, text, table, skip);
    if (layer < middle - 1) skips.push_back(added.empty() ? y : ops::add(y, added[size_t(layer)]));
    ++layer;
  }
  const nn::Modulation::Vectors m = norm_out(embedding);  // scale, shift
  const Tensor last = in_block("norm_out", [&] { return m.norm(y, 1, 0, eps, Stored::inner); });
  // The values of a token are ordered row, column, channel of its patch.
  const int64_t channels = 2 * config.in_channels;
  const Tensor tokens = proj_out(last, {.out = x.dtype()}).view({B, rows, columns, p, p, channels});
  return ops::contiguous(tokens.permute({0, 1, 3, 2, 4, 5})).view({B, rows * p, columns * p, channels});
}

}  // namespace hearth::models::hunyuan_dit
