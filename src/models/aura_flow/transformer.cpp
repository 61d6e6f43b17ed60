#include "models/aura_flow/transformer.h"

#include <cmath>

#include "core/observe.h"
#include "nn/timestep_embedding.h"

namespace hearth::models::aura_flow {
namespace {

constexpr float eps = 1e-5f;
constexpr int64_t time_channels = 256;

nn::Linear without_bias(const Scope& w, int64_t in, int64_t out) { return {w, in, out, nn::Bias::no}; }

Tensor attend(const Projections::Heads& h, const Weight& like, Stored stored) {
  const auto [B, T, N, D] = h.q.dims<4>();
  return ops::attention(h.q, h.k, h.v, {.scale = 1.0f / std::sqrt(float(D)), .factors = like.form.factors, .stored = stored})
      .view({B, T, N * D});
}

Tensor of_each(const Tensor& one, int64_t B) { return B == 1 ? one : ops::repeat_batch(one, B); }

}  // namespace

Projections::Projections(const Scope& w, const TransformerConfig& c, const Names& names)
    : q(without_bias(w / names.q, c.width(), c.width())),
      k(without_bias(w / names.k, c.width(), c.width())),
      v(without_bias(w / names.v, c.width(), c.width())),
      out(without_bias(w / names.out, c.width(), c.width())),
      heads(c.heads),
      head_size(c.head_size) {}

Projections::Heads Projections::operator()(const Tensor& x) const {
  const Shape split{x.size(0), x.size(1), heads, head_size};
  const auto [queries, keys, values] = ops::linears(
      x, {{q.weight, q.bias, nn::inner}, {k.weight, k.bias, nn::inner}, {v.weight, v.bias, nn::inside(keys_of(q.weight.form.factors))}});
  const auto normed = [&](const Tensor& y) { return ops::layer_norm(y.view(split), {.eps = eps}); };
  return {normed(queries), normed(keys), values.view(split)};
}

Mlp::Mlp(const Scope& w, const TransformerConfig& c)
    : linear_1(without_bias(w / "linear_1", c.width(), c.mlp_width())),
      linear_2(without_bias(w / "linear_2", c.width(), c.mlp_width())),
      out(without_bias(w / "out_projection", c.mlp_width(), c.width())) {}

Tensor Mlp::operator()(const Tensor& x, const Tensor& gate, const Tensor& residual) const {
  const auto [B, T, W] = x.dims<3>();
  const Tensor rows = x.view({B * T, W});  // a gate of its own for each
  const Tensor gates = linear_1(rows, {.activation = Activation::silu, .out = DType::f32});
  const Tensor inner = linear_2(rows, {.gate = gates, .stored = nn::read_by(out)});
  return out(inner.view({B, T, inner.size(1)}), {.gate = gate, .residual = residual});
}

Tensor Tail::operator()(const nn::Modulation::Vectors& m, const Tensor& x, const Tensor& attended, const nn::Linear& out) const {
  const Tensor h = out(attended, {.gate = m.gate(2), .residual = x});
  return mlp(m.norm(h, 3, 4, eps, nn::read_by(mlp.linear_1, mlp.linear_2)), m.gate(5), x);
}

JointBlock::JointBlock(const Scope& w, const TransformerConfig& c)
    : norm1(w / "norm1", c.width(), 6, nn::Bias::no),
      norm1_context(w / "norm1_context", c.width(), 6, nn::Bias::no),
      image(w / "attn", c, Projections::own),
      text(w / "attn", c, Projections::added),
      ff(w / "ff", c),
      ff_context(w / "ff_context", c),
      path(w.path()) {}

Streams JointBlock::operator()(const Streams& x, const Tensor& embedding) const {
  const BlockScope scope(path);
  const int64_t L = x.text.size(1), T = x.image.size(1);
  const nn::Modulation::Vectors m = norm1(embedding), m_text = norm1_context(embedding);
  const Projections::Heads a = text(m_text.norm(x.text, 0, 1, eps, text.input())), b = image(m.norm(x.image, 0, 1, eps, image.input()));
  const Tensor attended = attend({ops::concat({a.q, b.q}, 1), ops::concat({a.k, b.k}, 1), ops::concat({a.v, b.v}, 1)}, image.q.weight,
                                 in_parts(nn::read_by(image.out, text.out)));
  Streams y;
  y.image = ff(m, x.image, attended.slice(1, L, L + T), image.out);
  y.text = ff_context(m_text, x.text, attended.slice(1, 0, L), text.out);
  tap(path, y.image);
  tap(path + ".text", y.text);
  return y;
}

SingleBlock::SingleBlock(const Scope& w, const TransformerConfig& c)
    : norm1(w / "norm1", c.width(), 6, nn::Bias::no), attention(w / "attn", c, Projections::own), ff(w / "ff", c), path(w.path()) {}

Tensor SingleBlock::operator()(const Tensor& x, const Tensor& embedding) const {
  const BlockScope scope(path);
  const nn::Modulation::Vectors m = norm1(embedding);
  const Tensor y =
      ff(m, x, attend(attention(m.norm(x, 0, 1, eps, attention.input())), attention.q.weight, nn::read_by(attention.out)), attention.out);
  tap(path, y);
  return y;
}

Transformer::Transformer(const Scope& w, const TransformerConfig& c)
    : config(c),
      patches(w / "pos_embed" / "proj", c.in_channels * c.patch * c.patch, c.width()),
      positions((w / "pos_embed").table("pos_embed", {1, c.positions, c.width()})),
      time_step_proj(w / "time_step_proj", time_channels, c.width()),
      context_embedder(without_bias(w / "context_embedder", c.text, c.width())),
      register_tokens(w.tensor("register_tokens", {1, registers, c.width()})),
      joint(w / "joint_transformer_blocks", c.joint_layers, [c](const Scope& block, int64_t) { return JointBlock(block, c); }),
      single(w / "single_transformer_blocks", c.single_layers, [c](const Scope& block, int64_t) { return SingleBlock(block, c); }),
      norm_out(w / "norm_out", c.width(), 2, nn::Bias::no),
      proj_out(without_bias(w / "proj_out", c.width(), c.patch * c.patch * c.out_channels)) {}

void Transformer::check(const Tensor& x, std::span<const float> timesteps, const Tensor& text) const {
  const auto [B, h, w, C] = x.dims<4>();
  const int64_t p = config.patch, most = p * config.side();
  if (C != config.in_channels) fail<ShapeError>("aura_flow: x is {}, expected {} channels", x.shape(), config.in_channels);
  if (h < 1 || w < 1 || h % p != 0 || w % p != 0 || h > most || w > most)
    fail<ShapeError>("aura_flow: x is {}, expected sides that are multiples of {}, at most {} (the position table's)", x.shape(), p, most);
  if (int64_t(timesteps.size()) != B && timesteps.size() != 1)
    fail<ShapeError>("aura_flow: {} timesteps, expected 1 or one for each of {} images", timesteps.size(), B);
  if (text.rank() != 3 || text.size(0) != B || text.size(2) != config.text)
    fail<ShapeError>("aura_flow: the text is {}, expected [{}, L, {}]", text.shape(), B, config.text);
}

// → [B, T, W]
Tensor Transformer::embed_image(const Tensor& x) const {
  const auto [B, h, w, C] = x.dims<4>();
  const int64_t p = config.patch, rows = h / p, columns = w / p, side = config.side(), W = config.width();
  return in_block("pos_embed", [&, B = B, C = C] {
    const int64_t top = side / 2 - rows / 2, left = side / 2 - columns / 2;
    std::vector<int32_t> picked;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) picked.push_back(int32_t((top + r) * side + left + c));
    const Tensor table = ops::embedding(picked, positions.view({side * side, W})).view({1, rows * columns, W});
    // The values of a patch are ordered channel, row, column.
    const Tensor pixels = ops::contiguous(ops::contiguous(x).view({B, rows, p, columns, p, C}).permute({0, 1, 3, 5, 2, 4}));
    return patches(pixels.view({B, rows * columns, C * p * p}), {.residual = of_each(table, B)});
  });
}

Tensor Transformer::operator()(const Tensor& x, std::span<const float> timesteps, const Tensor& text) const {
  check(x, timesteps, text);
  const int64_t B = x.size(0), p = config.patch, rows = x.size(1) / p, columns = x.size(2) / p, L = registers + text.size(1);
  // The time embedding counts thousandths.
  std::vector<float> each;
  for (int64_t b = 0; b < B; ++b) each.push_back(1000 * timesteps[timesteps.size() == 1 ? 0 : size_t(b)]);
  const Tensor embedding =
      in_block("time_step_proj", [&] { return time_step_proj(nn::embed_timesteps(x.backend(), each, {.channels = time_channels})); });
  const Tensor activated = ops::activate(embedding, Activation::silu);
  const Tensor states = in_block("context_embedder", [&] { return context_embedder(text, {.out = DType::f32}); });
  Streams streams{ops::concat({of_each(register_tokens, B), states}, 1), embed_image(x)};
  for (const JointBlock& block : joint) streams = block(streams, activated);
  Tensor all = ops::concat({streams.text, streams.image}, 1);
  streams = {};
  for (const SingleBlock& block : single) all = block(all, activated);

  const nn::Modulation::Vectors m = norm_out(activated);
  const Tensor image = ops::contiguous(all.slice(1, L, all.size(1)));
  const Tensor last = in_block("norm_out", [&] { return ops::affine(image, ops::scaled(m.gate(0), 1, 1), m.gate(1)); });
  // The values of a token are ordered row, column, channel of its patch.
  const Tensor tokens = proj_out(last, {.out = x.dtype()}).view({B, rows, columns, p, p, config.out_channels});
  return ops::contiguous(tokens.permute({0, 1, 3, 2, 4, 5})).view({B, rows * p, columns * p, config.out_channels});
}

}  // namespace hearth::models::aura_flow
