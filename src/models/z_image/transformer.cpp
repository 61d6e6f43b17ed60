#include "models/z_image/transformer.h"

#include <cmath>

#include "core/observe.h"
#include "core/on_host.h"
#include "nn/timestep_embedding.h"
#include "ops/rope.h"

namespace hearth::models::z_image {
namespace {

constexpr float head_eps = 1e-5f, final_eps = 1e-6f;
constexpr int64_t sinusoid_width = 256, time_hidden = 1024;

// The chunks of a modulation [n, 4·D].
Tensor chunk(const Tensor& all, int64_t i) {
  const int64_t D = all.size(1) / 4;
  return all.slice(1, i * D, (i + 1) * D);
}

Tensor normed(const nn::RmsNorm& norm, const Tensor& x, const Tensor& scale, Stored stored) {
  return ops::rms_norm(x, {.gamma = norm.gamma, .eps = norm.eps, .scale = scale, .stored = stored});
}

// x + gate · norm(y); without a gate x + norm(y)
Tensor added(const Tensor& x, const nn::RmsNorm& norm, const Tensor& y, const Tensor& gate) {
  const Tensor z = ops::rms_norm(y, {.gamma = norm.gamma, .eps = norm.eps, .out = x.dtype()});
  return ops::add(x, gate ? ops::affine(z, gate, {}) : z);
}

}  // namespace

Tensor pack(const Tensor& latents) {
  const auto [n, h, w, C] = latents.dims<4>();
  if (h % 2 != 0 || w % 2 != 0) fail<ShapeError>("z_image: latents {} cannot be packed, expected even height and width", latents.shape());
  const Tensor pixels = ops::contiguous(latents).view({n, h / 2, 2, w / 2, 2, C});
  return ops::contiguous(pixels.permute({0, 1, 3, 2, 4, 5})).view({n, h / 2 * (w / 2), 4 * C});
}

Tensor unpack(const Tensor& tokens, int64_t h, int64_t w) {
  const auto [n, S, K] = tokens.dims<3>();
  const int64_t T = h / 2 * (w / 2);
  if (h % 2 != 0 || w % 2 != 0 || S < T || K % 4 != 0)
    fail<ShapeError>("z_image: tokens {} are not those of latents of {}×{}", tokens.shape(), h, w);
  const Tensor pixels = ops::contiguous(tokens.slice(1, 0, T)).view({n, h / 2, w / 2, 2, 2, K / 4});
  return ops::contiguous(pixels.permute({0, 1, 3, 2, 4, 5})).view({n, h, w, K / 4});
}

Tensor padded(const Tensor& x, const Tensor& token) {
  const auto [n, T, D] = x.dims<3>();
  const int64_t more = TransformerConfig::padded(T) - T;
  return more == 0 ? x : ops::concat({x, ops::repeat_batch(token, n * more).view({n, more, D})}, 1);
}

RotaryTables rotary_tables(const TransformerConfig& c, int64_t rows, int64_t columns, int64_t text_tokens, Backend& backend) {
  const int64_t half = c.head() / 2, T = rows * columns, S = c.padded(T), L = c.padded(text_tokens);
  using Position = std::array<int64_t, 3>;
  const auto table = [&](int64_t count, const auto& position_of) {
    return written_on_host(backend, {1, count, 1, 2, half}, DType::f32,
                           [&](Tensor& y) {
                             float* row = y.data<float>();
                             for (int64_t i = 0; i < count; ++i, row += 2 * half) {
                               const Position at = position_of(i);
                               for (int64_t axis = 0, begin = 0; axis < 3; begin += c.axes[size_t(axis++)] / 2)
                                 for (int64_t k = 0; k < c.axes[size_t(axis)] / 2; ++k) {
                                   // Frequencies in f64, the angle rounded to f32, as the reference.
                                   const double frequency = 1 / std::pow(c.theta, double(2 * k) / double(c.axes[size_t(axis)]));
                                   const auto angle = float(double(at[size_t(axis)]) * frequency);
                                   row[begin + k] = std::cos(angle), row[half + begin + k] = std::sin(angle);
                                 }
                             }
                           })
        .to(backend);
  };
  return {.image = table(S,
                         [&](int64_t i) {
                           return i < T ? Position{L + 1, i / columns, i % columns} : Position{};
                         }),
          .text = table(L, [&](int64_t i) {
            return Position{1 + i, 0, 0};
          })};
}

Block::Block(const Scope& w, const TransformerConfig& c, bool modulated)
    : attention_norm1(w / "attention_norm1", c.width, float(c.eps)),
      attention_norm2(w / "attention_norm2", c.width, float(c.eps)),
      ffn_norm1(w / "ffn_norm1", c.width, float(c.eps)),
      ffn_norm2(w / "ffn_norm2", c.width, float(c.eps)),
      q(w / "attention" / "to_q", c.width, c.width, nn::Bias::no),
      k(w / "attention" / "to_k", c.width, c.width, nn::Bias::no),
      v(w / "attention" / "to_v", c.width, c.width, nn::Bias::no),
      out(w / "attention" / "to_out" / 0, c.width, c.width, nn::Bias::no),
      w1(w / "feed_forward" / "w1", c.width, c.mlp_width(), nn::Bias::no),
      w2(w / "feed_forward" / "w2", c.mlp_width(), c.width, nn::Bias::no),
      w3(w / "feed_forward" / "w3", c.width, c.mlp_width(), nn::Bias::no),
      heads(c.heads),
      path(w.path()) {
  if (modulated) adaln.emplace((w / "adaLN_modulation" / 0).exact(), c.time_width(), 4 * c.width);
  if (!c.qk_norm) return;
  norm_q.emplace(w / "attention" / "norm_q", c.head(), head_eps);
  norm_k.emplace(w / "attention" / "norm_k", c.head(), head_eps);
}

Tensor Block::operator()(const Tensor& x, const Tensor& time, const Tensor& table) const {
  const BlockScope block(path);
  const auto [n, S, D] = x.dims<3>();
  const Shape split{n, S, heads, D / heads};
  Tensor scale_attention, gate_attention, scale_mlp, gate_mlp;
  if (adaln) {
    const Tensor all = (*adaln)(time);
    scale_attention = chunk(all, 0), gate_attention = ops::activate(ops::contiguous(chunk(all, 1)), Activation::tanh);
    scale_mlp = chunk(all, 2), gate_mlp = ops::activate(ops::contiguous(chunk(all, 3)), Activation::tanh);
  }
  Tensor h;
  {
    const DType factors = q.weight.form.factors;
    auto [queries, keys, values] = ops::linears(normed(attention_norm1, x, scale_attention, nn::read_by(q, k, v)),
                                                {{q.weight, q.bias}, {k.weight, k.bias}, {v.weight, v.bias, nn::inside(keys_of(factors))}});
    queries = queries.view(split), keys = keys.view(split);
    if (norm_q) queries = (*norm_q)(queries), keys = (*norm_k)(keys);
    const Tensor y =
        ops::attention(ops::rope(queries, table, RotaryPairs::neighbors), ops::rope(keys, table, RotaryPairs::neighbors),
                       values.view(split), {.scale = 1 / std::sqrt(float(D / heads)), .factors = factors, .stored = nn::read_by(out)});
    h = added(x, attention_norm2, out(y.view({n, S, D}), {.out = DType::f32}), gate_attention);
  }
  const Tensor z = normed(ffn_norm1, h, scale_mlp, nn::read_by(w1, w3)).view({n * S, D});
  const Tensor up = w3(z, {.gate = w1(z, {.activation = Activation::silu, .out = DType::f32}), .stored = nn::read_by(w2)});
  const Tensor y = added(h, ffn_norm2, w2(up, {.out = DType::f32}).view({n, S, D}), gate_mlp);
  tap(path, y);
  return y;
}

Stem::Stem(const Scope& w, const TransformerConfig& c)
    : config(c),
      t_in((w / "t_embedder" / "mlp" / 0).exact(), sinusoid_width, time_hidden),
      t_out((w / "t_embedder" / "mlp" / 2).exact(), time_hidden, c.time_width()),
      x_embedder(w / "all_x_embedder" / "2-1", 4 * c.channels, c.width),
      cap_norm(w / "cap_embedder" / 0, c.text, float(c.eps)),
      cap_embedder(w / "cap_embedder" / 1, c.text, c.width),
      x_pad(w.tensor("x_pad_token", {1, c.width})),
      cap_pad(w.tensor("cap_pad_token", {1, c.width})),
      noise_refiner(w / "noise_refiner", c.refiner_layers, [c](const Scope& block) { return Block(block, c, true); }),
      context_refiner(w / "context_refiner", c.refiner_layers, [c](const Scope& block) { return Block(block, c, false); }) {}

void Stem::check(const Tensor& x, std::span<const float> times, const Tensor& text) const {
  const auto [n, h, w, C] = x.dims<4>();
  if (C != config.channels || h < 2 || w < 2 || h % 2 != 0 || w % 2 != 0)
    fail<ShapeError>("z_image: latents {}, expected [n, h, w, {}] with even h and w", x.shape(), config.channels);
  if (!text || text.rank() != 3 || text.size(0) != n || text.size(1) < 1 || text.size(2) != config.text)
    fail<ShapeError>("z_image: text states {}, expected [{}, L, {}]", text ? text.shape() : Shape(), n, config.text);
  if (times.size() != 1 && int64_t(times.size()) != n)
    fail<ShapeError>("z_image: {} times for {} images, expected 1 or {}", times.size(), n, n);
  const std::vector<int64_t>& most = config.places;
  if (h / 2 > most[1] || w / 2 > most[2] || config.padded(text.size(1)) + 1 >= most[0])
    fail<ShapeError>("z_image: {}×{} image tokens and {} of text, expected at most {}×{} and fewer than {} with padding", h / 2, w / 2,
                     text.size(1), most[1], most[2], most[0] - 1);
}

Tensor Stem::time(const Tensor& x, std::span<const float> times) const {
  std::vector<float> scaled;
  for (int64_t i = 0; i < x.size(0); ++i) scaled.push_back(times[times.size() == 1 ? 0 : size_t(i)] * float(config.time_scale));
  return in_block("t_embedder", [&] {
    return t_out(t_in(nn::embed_timesteps(x.backend(), scaled, {.channels = sinusoid_width}), {.activation = Activation::silu}));
  });
}

RotaryTables Stem::tables(const Tensor& x, const Tensor& text) const {
  return rotary_tables(config, x.size(1) / 2, x.size(2) / 2, text.size(1), x.backend());
}

Tensor Stem::image_tokens(const Tensor& x) const {
  return in_block("all_x_embedder.2-1", [&] { return padded(x_embedder(pack(x), {.out = DType::f32}), x_pad); });
}

Tensor Stem::text_tokens(const Tensor& states, const RotaryTables& tables) const {
  Tensor text = in_block("cap_embedder", [&] { return padded(cap_embedder(cap_norm(states), {.out = DType::f32}), cap_pad); });
  for (const Block& block : context_refiner) text = block(text, {}, tables.text);
  return text;
}

Transformer::Transformer(const Scope& w, const TransformerConfig& c)
    : config(c),
      stem(w, c),
      layers(w / "layers", c.layers, [c](const Scope& block) { return Block(block, c, true); }),
      final_adaln((w / "all_final_layer" / "2-1" / "adaLN_modulation" / 1).exact(), c.time_width(), c.width),
      final_linear(w / "all_final_layer" / "2-1" / "linear", c.width, 4 * c.channels) {}

Tensor Transformer::operator()(const Tensor& x, std::span<const float> times, const Tensor& states, const AddedAfterLayers& added) const {
  stem.check(x, times, states);
  const auto [n, h, w, C] = x.dims<4>();
  const Tensor time = stem.time(x, times);
  const RotaryTables tables = stem.tables(x, states);
  Tensor image = stem.image_tokens(x);
  for (const Block& block : stem.noise_refiner) image = block(image, time, tables.image);
  Tensor all = ops::concat({image, stem.text_tokens(states, tables)}, 1);
  image = {};
  const Tensor table = ops::concat({tables.image, tables.text}, 1);
  int64_t layer = 0;
  for (const Block& block : layers) {
    all = block(all, time, table);
    if (const auto more = added.find(layer++); more != added.end()) all = ops::add(all, more->second);
  }
  const BlockScope block("all_final_layer.2-1");
  const Tensor tokens = ops::contiguous(all.slice(1, 0, h / 2 * (w / 2)));
  const Tensor scale = final_adaln(ops::activate(time, Activation::silu));
  return unpack(final_linear(ops::layer_norm(tokens, {.eps = final_eps, .scale = scale}), {.out = DType::f32}), h, w);
}

}  // namespace hearth::models::z_image
