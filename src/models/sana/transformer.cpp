#include "models/sana/transformer.h"

#include <cmath>

#include "core/observe.h"
#include "nn/timestep_embedding.h"
#include "ops/linear_attention.h"

namespace hearth::models::sana {
namespace {

constexpr int64_t time_channels = 256;
constexpr float rms_eps = 1e-5f, last_eps = 1e-6f, attention_eps = 1e-15f;

std::optional<nn::RmsNorm> norm_of(bool wanted, const Scope& w, int64_t width) {
  return wanted ? std::optional<nn::RmsNorm>(std::in_place, w, width, rms_eps) : std::nullopt;
}

Tensor normed(const std::optional<nn::RmsNorm>& norm, const Tensor& x) { return norm ? (*norm)(x) : x; }

// Vector i of a modulation [B, n·W].
Tensor vector_of(const Tensor& all, int64_t i, int64_t W) { return all.slice(1, i * W, (i + 1) * W); }

// x − relu(x − most) + relu(−x − most): x itself between −most and most.
Tensor clamped(const Tensor& x) {
  constexpr float most = 65504;
  return ops::linear_combination(
      {x, ops::activate(ops::scaled(x, 1, -most), Activation::relu), ops::activate(ops::scaled(x, -1, -most), Activation::relu)},
      {1, -1, 1});
}

// a [B, n·W] + table [1, n·W]
Tensor with_table(const Tensor& a, const Tensor& table) { return ops::add(a, ops::repeat_batch(table, a.size(0))); }

// Sine positions of tokens (rows, columns): a half of the channels for the column, then one for the row, each sines before cosines; an
// image of sample_size tokens has the same positions at every size.
Tensor sine_positions(Backend& backend, int64_t rows, int64_t columns, const TransformerConfig& c) {
  const int64_t W = c.width(), quarter = W / 4;
  const double base = double(c.sample_size / c.patch);
  const auto position = [&](int64_t at, int64_t size) {  // in f32, as in the reference
    return double(float(at) / float(double(size) / base) / float(*c.interpolation_scale));
  };
  std::vector<float> values(size_t(rows * columns * W));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t k = 0; k < columns; ++k)
      for (int64_t axis = 0; axis < 2; ++axis) {
        const double place = axis == 0 ? position(k, columns) : position(r, rows);
        float* const to = values.data() + (r * columns + k) * W + axis * 2 * quarter;
        for (int64_t i = 0; i < quarter; ++i) {
          const double angle = place * std::pow(10000.0, -double(i) / double(quarter));
          to[i] = float(std::sin(angle)), to[quarter + i] = float(std::cos(angle));
        }
      }
  return Tensor::from(backend, {1, rows, columns, W}, values);
}

}  // namespace

LinearSelfAttention::LinearSelfAttention(const Scope& w, const TransformerConfig& c)
    : to_q(w / "to_q", c.width(), c.width(), c.attention_bias ? nn::Bias::yes : nn::Bias::no),
      to_k(w / "to_k", c.width(), c.width(), c.attention_bias ? nn::Bias::yes : nn::Bias::no),
      to_v(w / "to_v", c.width(), c.width(), c.attention_bias ? nn::Bias::yes : nn::Bias::no),
      to_out(w / "to_out" / 0, c.width(), c.width()),
      norm_q(norm_of(c.qk_norm, w / "norm_q", c.width())),
      norm_k(norm_of(c.qk_norm, w / "norm_k", c.width())),
      heads(c.heads),
      head_size(c.head_size) {}

Tensor LinearSelfAttention::operator()(const Tensor& x, const Tensor& gate, const Tensor& stream, bool limited) const {
  const auto [B, T, W] = x.dims<3>();
  const Epilogue wide{.out = DType::f32}, feature{.activation = norm_q ? Activation::none : Activation::relu, .out = DType::f32};
  Tensor q = to_q(x, feature), k = to_k(x, feature);
  if (norm_q) q = ops::activate((*norm_q)(q), Activation::relu), k = ops::activate((*norm_k)(k), Activation::relu);
  const Shape split{B, T, heads, head_size};
  const Tensor y = ops::linear_attention(q.view(split), k.view(split), to_v(x, wide).view(split), attention_eps);
  if (!limited) return to_out(y.view({B, T, W}), {.gate = gate, .residual = stream});
  return ops::add(stream, ops::affine(clamped(to_out(y.view({B, T, W}), wide)), gate, {}));
}

CrossAttention::CrossAttention(const Scope& w, const TransformerConfig& c)
    : to_q(w / "to_q", c.width(), c.cross_heads * c.cross_head_size),
      to_k(w / "to_k", c.width(), c.cross_heads * c.cross_head_size),
      to_v(w / "to_v", c.width(), c.cross_heads * c.cross_head_size),
      to_out(w / "to_out" / 0, c.cross_heads * c.cross_head_size, c.width()),
      norm_q(norm_of(c.qk_norm, w / "norm_q", c.cross_heads * c.cross_head_size)),
      norm_k(norm_of(c.qk_norm, w / "norm_k", c.cross_heads * c.cross_head_size)),
      heads(c.cross_heads),
      head_size(c.cross_head_size) {}

Tensor CrossAttention::operator()(const Tensor& x, const Caption& caption) const {
  const auto [B, T, W] = x.dims<3>();
  const auto split = [&, B = B](const Tensor& t) { return t.view({B, t.size(1), heads, head_size}); };
  const Tensor q = normed(norm_q, to_q(x, nn::inner));
  const auto [keys, v] = nn::together(caption.states, to_k, to_v);
  const Tensor k = normed(norm_k, keys);
  const Tensor y = ops::attention(split(q), split(k), split(v),
                                  {.scale = 1 / std::sqrt(float(head_size)), .key_lengths = {caption.rows.begin(), caption.rows.end()}});
  return to_out(y.view({B, T, heads * head_size}), {.residual = x});
}

Block::Block(const Scope& w, const TransformerConfig& c)
    : attn1(w / "attn1", c),
      attn2(w / "attn2", c),
      norm2_gamma(c.norm_affine ? (w / "norm2").tensor("weight", {c.width()}) : Tensor()),
      norm2_beta(c.norm_affine ? (w / "norm2").tensor("bias", {c.width()}) : Tensor()),
      ff(w / "ff", c.width(), c.hidden()),
      table(w.tensor("scale_shift_table", {6, c.width()})),
      eps(c.eps),
      path(w.path()) {
  if (table) table = table.view({1, 6 * c.width()});
}

Tensor Block::operator()(const Tensor& x, const Caption& caption, const Tensor& modulation, int64_t h, int64_t w, bool limited) const {
  const BlockScope scope(path);
  const auto [B, T, W] = x.dims<3>();
  const Tensor m = with_table(modulation, table);
  const auto vector = [&, W = W](int64_t i) { return vector_of(m, i, W); };
  const auto gate = [&](int64_t i) { return ops::contiguous(vector(i)); };
  const Tensor first =
      ops::layer_norm(x, {.eps = eps, .scale = vector(1), .shift = vector(0), .stored = nn::read_by(attn1.to_q, attn1.to_k, attn1.to_v)});
  Tensor y = in_block(path + ".attn1", [&] { return attn1(first, gate(2), x, limited); });
  y = in_block(path + ".attn2", [&] { return attn2(y, caption); });
  const Tensor second = ops::layer_norm(
      y, {.gamma = norm2_gamma, .beta = norm2_beta, .eps = eps, .scale = vector(4), .shift = vector(3), .stored = Stored::inner});
  const Shape plane{B, h, w, W};
  y = in_block(path + ".ff", [&] { return ff(second.view(plane), {.gate = gate(5), .residual = y.view(plane)}); }).view({B, T, W});
  tap(path, y);
  return y;
}

Stem::Stem(const Scope& w, const TransformerConfig& c)
    : config(c),
      patches(w / "patch_embed" / "proj", c.in_channels, c.width(), c.patch, ConvSpec::plane(c.patch)),
      timestep_embedder(c.guidance_embedding ? w / "time_embed" / "timestep_embedder" : w / "time_embed" / "emb" / "timestep_embedder",
                        time_channels, c.width()),
      time_linear((w / "time_embed" / "linear").exact(), c.width(), 6 * c.width()),
      caption_1(w / "caption_projection" / "linear_1", c.text_width, c.width()),
      caption_2(w / "caption_projection" / "linear_2", c.width(), c.width()),
      caption_norm(w / "caption_norm", c.width(), rms_eps) {
  if (c.guidance_embedding) guidance_embedder.emplace(w / "time_embed" / "guidance_embedder", time_channels, c.width());
}

void Stem::check(const Tensor& x, std::span<const float> timesteps, std::optional<float> guidance, const Tensor& text,
                 std::span<const int64_t> rows) const {
  const auto [B, h, w, C] = x.dims<4>();
  const int64_t p = config.patch;
  if (C != config.in_channels) fail<ShapeError>("sana: x is {}, expected {} channels", x.shape(), config.in_channels);
  if (h < 1 || w < 1 || h % p != 0 || w % p != 0) fail<ShapeError>("sana: x is {}, expected sides that are multiples of {}", x.shape(), p);
  if (int64_t(timesteps.size()) != B && timesteps.size() != 1)
    fail<ShapeError>("sana: {} timesteps, expected 1 or one for each of {} images", timesteps.size(), B);
  if (guidance.has_value() != config.guidance_embedding)
    fail<ShapeError>("sana: a guidance scale is {}, expected {}", guidance ? "given" : "missing", guidance ? "none" : "one");
  if (text.rank() != 3 || text.size(0) != B || text.size(2) != config.text_width)
    fail<ShapeError>("sana: text is {}, expected [{}, L, {}]", text.shape(), B, config.text_width);
  if (int64_t(rows.size()) != B) fail<ShapeError>("sana: {} numbers of text rows, expected one for each of {} images", rows.size(), B);
}

Tensor Stem::tokens(const Tensor& x) const {
  return in_block("patch_embed", [&] {
    const int64_t B = x.size(0), rows = x.size(1) / config.patch, columns = x.size(2) / config.patch;
    Epilogue e{.out = DType::f32};
    if (config.interpolation_scale) {
      const Tensor positions = sine_positions(x.backend(), rows, columns, config);
      e.residual = B == 1 ? positions : ops::repeat_batch(positions, B);
    }
    const Tensor y = patches(x, e).view({B, rows * columns, config.width()});
    tap("patch_embed", y);
    return y;
  });
}

Tensor Stem::time(const Tensor& x, std::span<const float> timesteps, std::optional<float> guidance) const {
  const int64_t images = x.size(0);
  return in_block("time_embed", [&] {
    const std::vector<float> each =
        timesteps.size() == 1 ? std::vector<float>(size_t(images), timesteps[0]) : std::vector<float>(timesteps.begin(), timesteps.end());
    const auto sinusoid = [&](const std::vector<float>& values) {
      return nn::embed_timesteps(x.backend(), values, {.channels = time_channels});
    };
    const Tensor time = timestep_embedder(sinusoid(each));
    return guidance ? (*guidance_embedder)(sinusoid(std::vector<float>(size_t(images), *guidance)), time) : time;
  });
}

Tensor Stem::modulation(const Tensor& temb) const {
  return in_block("time_embed", [&] {
    const Tensor m = time_linear(ops::activate(temb, Activation::silu));
    tap("time_embed", m);
    return m;
  });
}

Tensor Stem::caption(const Tensor& text) const {
  return in_block("caption_norm", [&] {
    const Tensor y = caption_norm(caption_2(caption_1(text, {.activation = Activation::gelu_tanh})));
    tap("caption_norm", y);
    return y;
  });
}

Transformer::Transformer(const Scope& w, const TransformerConfig& c)
    : config(c),
      stem(w, c),
      blocks(w / "transformer_blocks", c.layers, [c](const Scope& block) { return Block(block, c); }),
      table(w.tensor("scale_shift_table", {2, c.width()})),
      proj_out(w / "proj_out", c.width(), c.patch * c.patch * c.out_channels) {
  if (table) table = table.view({1, 2 * c.width()});
}

Tensor Transformer::operator()(const Tensor& x, std::span<const float> timesteps, std::optional<float> guidance, const Tensor& text,
                               std::span<const int64_t> rows, bool limited, std::span<const std::vector<Tensor>> added) const {
  stem.check(x, timesteps, guidance, text, rows);
  const int64_t B = x.size(0), p = config.patch, h = x.size(1) / p, w = x.size(2) / p, W = config.width();
  Tensor stream = stem.tokens(x);
  const Tensor temb = stem.time(x, timesteps, guidance), modulation = stem.modulation(temb);
  const Caption caption{stem.caption(text), rows};
  size_t done = 0;
  for (const Block& block : blocks) {
    stream = block(stream, caption, modulation, h, w, limited);
    for (const std::vector<Tensor>& list : added)
      if (done > 0 && done <= list.size()) stream = ops::add(stream, list[done - 1]);
    ++done;
  }
  const Tensor last = in_block("norm_out", [&] {
    const Tensor m = with_table(ops::concat({temb, temb}, 1), table);
    const Tensor y =
        ops::layer_norm(stream, {.eps = last_eps, .scale = vector_of(m, 1, W), .shift = vector_of(m, 0, W), .stored = Stored::inner});
    tap("norm_out", y);
    return y;
  });
  // The values of a token are ordered row, column, channel of its patch.
  const Tensor tokens = proj_out(last, {.out = x.dtype()}).view({B * h, w, p, p * config.out_channels});
  if (p == 1) return tokens.view({B, h, w, config.out_channels});
  std::vector<Tensor> lines;
  for (int64_t i = 0; i < p; ++i) lines.push_back(tokens.slice(2, i, i + 1));
  return ops::concat(lines, 1).view({B, h * p, w * p, config.out_channels});
}

}  // namespace hearth::models::sana
