#include "models/flux2/transformer.h"

#include <cmath>
#include <map>

#include "core/observe.h"
#include "core/on_host.h"
#include "nn/timestep_embedding.h"
#include "ops/rope.h"

namespace hearth::models::flux2 {
namespace {

constexpr auto no_bias = nn::Bias::no;

// Attention of all heads; q and k [n, S, N, head] before rotation → [n, S, D].
Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& table, DType factors, Stored stored) {
  const auto [n, S, N, head] = q.dims<4>();
  const Tensor y = ops::attention(ops::rope(q, table, RotaryPairs::neighbors), ops::rope(k, table, RotaryPairs::neighbors), v,
                                  {.scale = 1.0f / std::sqrt(float(head)), .factors = factors, .stored = stored});
  return y.view({n, S, N * head});
}

// silu(x · gateᵀ) · (x · upᵀ).   x [n, T, D] → [n, T, mlp]
Tensor gated(const Tensor& x, const Weight& gate, const Weight& up, Stored stored) {
  const auto [n, T, D] = x.dims<3>();
  const Tensor rows = x.view({n * T, D});
  const Tensor g = ops::linear(rows, gate, {}, {.activation = Activation::silu, .out = DType::f32});
  const Tensor y = ops::linear(rows, up, {}, {.gate = g, .stored = stored});
  return y.view({n, T, y.size(1)});
}

// One value per image.
std::vector<float> for_each_image(std::span<const float> values, int64_t n, float factor) {
  std::vector<float> all;
  for (int64_t i = 0; i < n; ++i) all.push_back(values[values.size() == 1 ? 0 : size_t(i)] * factor);
  return all;
}

Scope attention_of(const Scope& w) { return w / "attn"; }

}  // namespace

void append_positions(std::vector<Position>& positions, int32_t image, int64_t h, int64_t w) {
  for (int32_t y = 0; y < h; ++y)
    for (int32_t x = 0; x < w; ++x) positions.push_back({image, y, x});
}

Tensor rotary_table(const TransformerConfig& c, int64_t text_tokens, std::span<const Position> positions, Backend& backend) {
  const int64_t half = c.head_size / 2, T = int64_t(positions.size());
  const Tensor table = written_on_host(backend, {1, text_tokens + T, 1, 2, half}, DType::f32, [&](Tensor& y) {
    float* row = y.data<float>();
    std::array<std::map<int32_t, std::vector<float>>, 4> known;  // rows and columns repeat
    const auto put = [&](const std::array<int32_t, 4>& at) {
      int64_t begin = 0;
      for (size_t axis = 0; axis < 4; ++axis) {
        const int64_t count = c.axes[axis] / 2;
        std::vector<float>& angles = known[axis][at[axis]];  // cosines, sines
        for (int64_t i = 0; angles.size() < size_t(2 * count); ++i) {
          const double angle = double(at[axis]) / std::pow(c.theta, double(2 * (i % count)) / double(c.axes[axis]));
          angles.push_back(float(i < count ? std::cos(angle) : std::sin(angle)));
        }
        std::copy_n(angles.data(), count, row + begin);
        std::copy_n(angles.data() + count, count, row + half + begin);
        begin += count;
      }
      row += 2 * half;
    };
    for (int32_t l = 0; l < text_tokens; ++l) put({0, 0, 0, l});
    for (const Position& p : positions) put({p[0], p[1], p[2], 0});
  });
  return table.to(backend);
}

Modulation::Modulation(const Scope& w, int64_t width, int64_t count)
    : linear_((w / "linear").exact(), width, count * width, no_bias), width_(width) {}

Embedding::Embedding(const Scope& w, int64_t in, int64_t width)
    : linear_1((w / "linear_1").exact(), in, width, no_bias), linear_2((w / "linear_2").exact(), width, width, no_bias) {}

Tensor Embedding::operator()(const Tensor& x, const Tensor& added) const {
  return linear_2(linear_1(x, {.activation = Activation::silu}), {.residual = added});
}

DoubleBlock::Stream::Stream(const Scope& w, const TransformerConfig& c, bool text)
    : q(attention_of(w) / (text ? "add_q_proj" : "to_q"), c.width(), c.width(), no_bias),
      k(attention_of(w) / (text ? "add_k_proj" : "to_k"), c.width(), c.width(), no_bias),
      v(attention_of(w) / (text ? "add_v_proj" : "to_v"), c.width(), c.width(), no_bias),
      out(text ? attention_of(w) / "to_add_out" : attention_of(w) / "to_out" / 0, c.width(), c.width(), no_bias),
      norm_q(attention_of(w) / (text ? "norm_added_q" : "norm_q"), c.head_size, float(c.eps)),
      norm_k(attention_of(w) / (text ? "norm_added_k" : "norm_k"), c.head_size, float(c.eps)),
      gate((w / (text ? "ff_context" : "ff") / "linear_in").linear_rows("weight", 2 * c.mlp_width(), c.width(), {0, c.mlp_width()})),
      up((w / (text ? "ff_context" : "ff") / "linear_in")
             .linear_rows("weight", 2 * c.mlp_width(), c.width(), {c.mlp_width(), 2 * c.mlp_width()})),
      down(w / (text ? "ff_context" : "ff") / "linear_out", c.mlp_width(), c.width(), no_bias),
      heads(c.heads),
      eps(float(c.eps)) {}

std::array<Tensor, 3> DoubleBlock::Stream::projected(const Tensor& x) const {
  const auto [n, T, D] = x.dims<3>();
  const Shape split{n, T, heads, D / heads};
  const auto [qs, ks, vs] =
      ops::linears(x, {{q.weight, q.bias}, {k.weight, k.bias}, {v.weight, v.bias, nn::inside(keys_of(q.weight.form.factors))}});
  return {norm_q(qs.view(split)), norm_k(ks.view(split)), vs.view(split)};
}

Tensor DoubleBlock::Stream::finish(const Tensor& x, const Tensor& attended, const Modulation::Vectors& m) const {
  const Tensor h = out(attended, {.gate = m.gate(2), .residual = x});
  return down(gated(m.norm(h, 3, eps, read_by(gate, up)), gate, up, nn::read_by(down)), {.gate = m.gate(5), .residual = h});
}

DoubleBlock::DoubleBlock(const Scope& w, const TransformerConfig& c) : image(w, c, false), text(w, c, true), path(w.path()) {}

void DoubleBlock::operator()(Tensor& x, Tensor& c, const Modulation::Vectors& of_image, const Modulation::Vectors& of_text,
                             const Tensor& table) const {
  const BlockScope block(path);
  const int64_t L = c.size(1), S = L + x.size(1);
  Tensor attended;
  {
    const std::array<Tensor, 3> a = text.projected(of_text.norm(c, 0, text.eps, text.input())),
                                b = image.projected(of_image.norm(x, 0, image.eps, image.input()));
    attended = attend(ops::concat({a[0], b[0]}, 1), ops::concat({a[1], b[1]}, 1), ops::concat({a[2], b[2]}, 1), table,
                      image.q.weight.form.factors, in_parts(nn::read_by(image.out, text.out)));
  }
  x = image.finish(x, attended.slice(1, L, S), of_image);
  c = text.finish(c, attended.slice(1, 0, L), of_text);
  tap(path, x);
  tap(path + ".context", c);
}

namespace {

// Rows `part` of those that attn.to_qkv_mlp_proj has: q, k, v, gate, up.
Weight part_of(const Scope& w, const TransformerConfig& c, int64_t part) {
  const int64_t D = c.width(), M = c.mlp_width(), first = part < 3 ? part * D : 3 * D + (part - 3) * M;
  return (attention_of(w) / "to_qkv_mlp_proj").linear_rows("weight", 3 * D + 2 * M, D, {first, first + (part < 3 ? D : M)});
}

}  // namespace

SingleBlock::SingleBlock(const Scope& w, const TransformerConfig& c)
    : q(part_of(w, c, 0)),
      k(part_of(w, c, 1)),
      v(part_of(w, c, 2)),
      gate(part_of(w, c, 3)),
      up(part_of(w, c, 4)),
      norm_q(attention_of(w) / "norm_q", c.head_size, float(c.eps)),
      norm_k(attention_of(w) / "norm_k", c.head_size, float(c.eps)),
      out(attention_of(w) / "to_out", c.width() + c.mlp_width(), c.width(), no_bias),
      heads(c.heads),
      eps(float(c.eps)),
      path(w.path()) {}

Tensor SingleBlock::operator()(const Tensor& x, const Modulation::Vectors& m, const Tensor& table) const {
  const BlockScope block(path);
  const auto [n, S, D] = x.dims<3>();
  const Shape split{n, S, heads, D / heads};
  Tensor both;
  {
    const Tensor h = m.norm(x, 0, eps, read_by(q, k, v, gate, up));
    const auto all =
        ops::linears(h, {ops::LinearSpec{q, {}}, ops::LinearSpec{k, {}}, ops::LinearSpec{v, {}, nn::inside(keys_of(q.form.factors))}});
    const Tensor attended =
        attend(norm_q(all[0].view(split)), norm_k(all[1].view(split)), all[2].view(split), table, q.form.factors, nn::read_by(out));
    both = ops::concat({attended, gated(h, gate, up, nn::read_by(out))}, 2);
  }
  const Tensor y = out(both, {.gate = m.gate(2), .residual = x});
  tap(path, y);
  return y;
}

Transformer::Transformer(const Scope& w, const TransformerConfig& c)
    : config(c),
      timestep_embedder(w / "time_guidance_embed" / "timestep_embedder", c.sinusoid, c.width()),
      double_image(w / "double_stream_modulation_img", c.width(), 6),
      double_text(w / "double_stream_modulation_txt", c.width(), 6),
      single(w / "single_stream_modulation", c.width(), 3),
      context_embedder(w / "context_embedder", c.text, c.width(), no_bias),
      x_embedder(w / "x_embedder", c.in_channels, c.width(), no_bias),
      transformer_blocks(w / "transformer_blocks", c.layers, [c](const Scope& block) { return DoubleBlock(block, c); }),
      single_transformer_blocks(w / "single_transformer_blocks", c.single_layers,
                                [c](const Scope& block) { return SingleBlock(block, c); }),
      norm_out((w / "norm_out" / "linear").exact(), c.width(), 2 * c.width(), no_bias),
      proj_out(w / "proj_out", c.width(), c.out_channels, no_bias) {
  if (c.guidance) guidance_embedder.emplace(w / "time_guidance_embed" / "guidance_embedder", c.sinusoid, c.width());
}

void Transformer::check(const Tensor& x, size_t positions, int64_t rows, const Conditions& given) const {
  const auto [n, T, K] = x.dims<3>();
  const auto fits = [n = n](std::span<const float> values) { return values.size() == 1 || int64_t(values.size()) == n; };
  if (K != config.in_channels || T < 1 || size_t(T) != positions || rows < 1 || rows > T)
    fail<ShapeError>("flux2: tokens {} at {} positions, {} of them predicted, expected [n, T, {}] and as many positions", x.shape(),
                     positions, rows, config.in_channels);
  if (!given.text || given.text.rank() != 3 || given.text.size(0) != n || given.text.size(1) < 1 || given.text.size(2) != config.text)
    fail<ShapeError>("flux2: text states {}, expected [{}, L, {}]", given.text ? given.text.shape() : Shape(), n, config.text);
  if (!fits(given.timesteps)) fail<ShapeError>("flux2: {} timesteps for {} images, expected 1 or {}", given.timesteps.size(), n, n);
  if (config.guidance ? !fits(given.guidance) : !given.guidance.empty())
    fail<ShapeError>("flux2: {} guidance scales for {} images, expected {}", given.guidance.size(), n,
                     config.guidance ? fmt::format("1 or {}", n) : "none");
}

Tensor Transformer::operator()(const Tensor& x, std::span<const Position> positions, int64_t rows, const Conditions& given) const {
  check(x, positions.size(), rows, given);
  const int64_t n = x.size(0), L = given.text.size(1);
  Backend& backend = x.backend();
  const auto sinusoid = [&](const std::vector<float>& values) {
    return nn::embed_timesteps(backend, values, {.channels = config.sinusoid});
  };
  const Tensor temb = in_block("time_guidance_embed", [&] {
    const Tensor time = timestep_embedder(sinusoid(for_each_image(given.timesteps, n, 1)));
    return guidance_embedder ? (*guidance_embedder)(sinusoid(for_each_image(given.guidance, n, 1000)), time) : time;
  });
  const Tensor active = ops::activate(temb, Activation::silu);
  const Modulation::Vectors of_image = double_image(active), of_text = double_text(active), of_both = single(active);
  Tensor image = in_block("x_embedder", [&] { return x_embedder(x, {.out = DType::f32}); });
  Tensor text = in_block("context_embedder", [&] { return context_embedder(given.text, {.out = DType::f32}); });
  const Tensor table = rotary_table(config, L, positions, backend);
  for (const DoubleBlock& block : transformer_blocks) block(image, text, of_image, of_text, table);
  Tensor both = ops::concat({text, image}, 1);
  image = text = {};
  for (const SingleBlock& block : single_transformer_blocks) both = block(both, of_both, table);
  const BlockScope block("norm_out");
  const Tensor all = norm_out(active);
  const int64_t D = config.width();
  const Tensor tokens = ops::contiguous(both.slice(1, L, L + rows));
  return proj_out(ops::layer_norm(tokens, {.eps = float(config.eps), .scale = all.slice(1, 0, D), .shift = all.slice(1, D, 2 * D)}),
                  {.out = DType::f32});
}

}  // namespace hearth::models::flux2
