#include "models/flux1/transformer.h"

#include <cmath>
#include <map>

#include "core/observe.h"
#include "core/on_host.h"
#include "nn/timestep_embedding.h"
#include "ops/rope.h"

namespace hearth::models::flux1 {
namespace {

constexpr float eps = 1e-6f;             // of every norm
constexpr int64_t sinusoid_width = 256;  // of timestep and guidance

// Attention of all heads; q and k [n, S, N, head] before rotation → [n, S, D].
Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& table, DType factors, Stored stored) {
  const auto [n, S, N, head] = q.dims<4>();
  const Tensor y = ops::attention(ops::rope(q, table, RotaryPairs::neighbors), ops::rope(k, table, RotaryPairs::neighbors), v,
                                  {.scale = 1.0f / std::sqrt(float(head)), .factors = factors, .stored = stored});
  return y.view({n, S, N * head});
}

// One value per image.
std::vector<float> for_each_image(std::span<const float> values, int64_t n, float factor) {
  std::vector<float> all;
  for (int64_t i = 0; i < n; ++i) all.push_back(values[values.size() == 1 ? 0 : size_t(i)] * factor);
  return all;
}

Scope attention_of(const Scope& w) { return w / "attn"; }

}  // namespace

Tensor pack(const Tensor& latents) {
  const auto [n, h, w, C] = latents.dims<4>();
  if (h % 2 != 0 || w % 2 != 0) fail<ShapeError>("flux1: latents {} cannot be packed, expected even height and width", latents.shape());
  const Tensor pixels = ops::contiguous(latents).view({n, h / 2, 2, w / 2, 2, C});
  return ops::contiguous(pixels.permute({0, 1, 3, 5, 2, 4})).view({n, h / 2 * (w / 2), 4 * C});
}

Tensor unpack(const Tensor& tokens, int64_t h, int64_t w) {
  const auto [n, T, K] = tokens.dims<3>();
  if (h % 2 != 0 || w % 2 != 0 || T != h / 2 * (w / 2) || K % 4 != 0)
    fail<ShapeError>("flux1: tokens {} are not those of latents of {}×{}", tokens.shape(), h, w);
  const Tensor pixels = ops::contiguous(tokens).view({n, h / 2, w / 2, K / 4, 2, 2});
  return ops::contiguous(pixels.permute({0, 1, 4, 2, 5, 3})).view({n, h, w, K / 4});
}

void append_positions(std::vector<Position>& positions, int32_t image, int64_t h, int64_t w) {
  for (int32_t y = 0; y < h / 2; ++y)
    for (int32_t x = 0; x < w / 2; ++x) positions.push_back({image, y, x});
}

Tensor rotary_table(const TransformerConfig& c, int64_t text_tokens, std::span<const Position> positions, Backend& backend) {
  const int64_t half = c.head_size / 2, T = int64_t(positions.size());
  const Tensor table = written_on_host(backend, {1, text_tokens + T, 1, 2, half}, DType::f32, [&](Tensor& y) {
    float* row = y.data<float>();
    const auto put = [&](const Position& at, std::array<std::map<int32_t, std::vector<float>>, 3>& known) {
      int64_t begin = 0;
      for (size_t axis = 0; axis < 3; ++axis) {
        const int64_t count = c.axes[axis] / 2;
        std::vector<float>& angles = known[axis][at[axis]];  // cosines, sines
        for (int64_t i = 0; angles.size() < size_t(2 * count); ++i) {
          const double angle = double(at[axis]) / std::pow(10000.0, double(2 * (i % count)) / double(c.axes[axis]));
          angles.push_back(float(i < count ? std::cos(angle) : std::sin(angle)));
        }
        std::copy_n(angles.data(), count, row + begin);
        std::copy_n(angles.data() + count, count, row + half + begin);
        begin += count;
      }
      row += 2 * half;
    };
    std::array<std::map<int32_t, std::vector<float>>, 3> known;  // rows and columns repeat
    for (int64_t i = 0; i < text_tokens; ++i) put({0, 0, 0}, known);
    for (const Position& position : positions) put(position, known);
  });
  return table.to(backend);
}

Projections::Projections(const Scope& w, const TransformerConfig& c, bool added)
    : q(w / (added ? "add_q_proj" : "to_q"), c.width(), c.width()),
      k(w / (added ? "add_k_proj" : "to_k"), c.width(), c.width()),
      v(w / (added ? "add_v_proj" : "to_v"), c.width(), c.width()),
      norm_q(w / (added ? "norm_added_q" : "norm_q"), c.head_size, eps),
      norm_k(w / (added ? "norm_added_k" : "norm_k"), c.head_size, eps),
      heads(c.heads) {}

std::array<Tensor, 3> Projections::operator()(const Tensor& x) const {
  const auto [n, T, D] = x.dims<3>();
  const Shape split{n, T, heads, D / heads};
  const auto [qs, ks, vs] =
      ops::linears(x, {{q.weight, q.bias}, {k.weight, k.bias}, {v.weight, v.bias, nn::inside(keys_of(q.weight.form.factors))}});
  return {norm_q(qs.view(split)), norm_k(ks.view(split)), vs.view(split)};
}

DoubleBlock::Stream::Stream(const Scope& w, const TransformerConfig& c, bool text)
    : norm1(w / (text ? "norm1_context" : "norm1"), c.width(), 6),
      projections(attention_of(w), c, text),
      out(text ? attention_of(w) / "to_add_out" : attention_of(w) / "to_out" / 0, c.width(), c.width()),
      up(w / (text ? "ff_context" : "ff") / "net" / 0 / "proj", c.width(), 4 * c.width()),
      down(w / (text ? "ff_context" : "ff") / "net" / 2, 4 * c.width(), c.width()) {}

Tensor DoubleBlock::Stream::finish(const Tensor& x, const Tensor& attended, const Modulation::Vectors& m) const {
  const Tensor h = out(attended, {.gate = m.gate(2), .residual = x});
  return down(up(m.norm(h, 3, 4, eps, nn::read_by(up)), {.activation = Activation::gelu_tanh, .stored = nn::read_by(down)}),
              {.gate = m.gate(5), .residual = h});
}

DoubleBlock::DoubleBlock(const Scope& w, const TransformerConfig& c) : image(w, c, false), text(w, c, true), path(w.path()) {}

void DoubleBlock::operator()(Tensor& x, Tensor& c, const Tensor& temb, const Tensor& table) const {
  const BlockScope block(path);
  const Modulation::Vectors of_image = image.norm1(temb), of_text = text.norm1(temb);
  const int64_t L = c.size(1), S = L + x.size(1);
  Tensor attended;
  {
    const std::array<Tensor, 3> a = text.projections(of_text.norm(c, 0, 1, eps, text.projections.input())),
                                b = image.projections(of_image.norm(x, 0, 1, eps, image.projections.input()));
    attended = attend(ops::concat({a[0], b[0]}, 1), ops::concat({a[1], b[1]}, 1), ops::concat({a[2], b[2]}, 1), table,
                      image.projections.q.weight.form.factors, in_parts(nn::read_by(image.out, text.out)));
  }
  x = image.finish(x, attended.slice(1, L, S), of_image);
  c = text.finish(c, attended.slice(1, 0, L), of_text);
  tap(path, x);
  tap(path + ".context", c);
}

SingleBlock::SingleBlock(const Scope& w, const TransformerConfig& c)
    : norm(w / "norm", c.width(), 3),
      projections(attention_of(w), c, false),
      proj_mlp(w / "proj_mlp", c.width(), 4 * c.width()),
      proj_out(w / "proj_out", 5 * c.width(), c.width()),
      path(w.path()) {}

Tensor SingleBlock::operator()(const Tensor& x, const Tensor& temb, const Tensor& table) const {
  const BlockScope block(path);
  const Modulation::Vectors m = norm(temb);
  Tensor both;
  {
    const Tensor h = m.norm(x, 0, 1, eps, nn::read_by(projections.q, projections.k, projections.v, proj_mlp));
    const auto [q, k, v] = projections(h);
    const Tensor attended = attend(q, k, v, table, projections.q.weight.form.factors, nn::read_by(proj_out));
    both = ops::concat({attended, proj_mlp(h, {.activation = Activation::gelu_tanh, .out = attended.dtype()})}, 2);
  }
  const Tensor y = proj_out(both, {.gate = m.gate(2), .residual = x});
  tap(path, y);
  return y;
}

void check_conditions(const TransformerConfig& config, const Conditions& given, int64_t n) {
  const auto fits = [n](std::span<const float> values) { return values.size() == 1 || int64_t(values.size()) == n; };
  if (!given.text || given.text.rank() != 3 || given.text.size(0) != n || given.text.size(1) < 1 || given.text.size(2) != config.text)
    fail<ShapeError>("flux1: text states {}, expected [{}, L, {}]", given.text ? given.text.shape() : Shape(), n, config.text);
  if (!given.pooled || given.pooled.shape() != Shape{n, config.pooled})
    fail<ShapeError>("flux1: pooled text {}, expected [{}, {}]", given.pooled ? given.pooled.shape() : Shape(), n, config.pooled);
  if (!fits(given.timesteps)) fail<ShapeError>("flux1: {} timesteps for {} images, expected 1 or {}", given.timesteps.size(), n, n);
  if (config.guidance ? !fits(given.guidance) : !given.guidance.empty())
    fail<ShapeError>("flux1: {} guidance scales for {} images, expected {}", given.guidance.size(), n,
                     config.guidance ? fmt::format("1 or {}", n) : "none");
}

TimeTextEmbed::TimeTextEmbed(const Scope& w, const TransformerConfig& c)
    : timestep_embedder(w / "timestep_embedder", sinusoid_width, c.width()),
      text_embedder(w / "text_embedder", c.pooled, c.width()),
      path(w.path()) {
  if (c.guidance) guidance_embedder.emplace(w / "guidance_embedder", sinusoid_width, c.width());
}

Tensor TimeTextEmbed::operator()(const Conditions& given, int64_t n) const {
  const auto sinusoid = [&](const std::vector<float>& values) {
    return nn::embed_timesteps(given.pooled.backend(), values, {.channels = sinusoid_width});
  };
  const Tensor temb = in_block(path, [&] {
    Tensor sum = timestep_embedder(sinusoid(for_each_image(given.timesteps, n, 1)));
    if (guidance_embedder) sum = (*guidance_embedder)(sinusoid(for_each_image(given.guidance, n, 1000)), sum);
    return text_embedder(given.pooled, sum);
  });
  return ops::activate(temb, Activation::silu);
}

const Tensor& AddedAfterBlocks::List::after(int64_t block, int64_t blocks) const {
  const auto k = int64_t(tensors.size());
  return tensors[size_t(cycles ? block % k : block / ((blocks + k - 1) / k))];
}

Transformer::Transformer(const Scope& w, const TransformerConfig& c)
    : config(c),
      time_text_embed(w / "time_text_embed", c),
      context_embedder(w / "context_embedder", c.text, c.width()),
      x_embedder(w / "x_embedder", c.in_channels, c.width()),
      transformer_blocks(w / "transformer_blocks", c.layers, [c](const Scope& block) { return DoubleBlock(block, c); }),
      single_transformer_blocks(w / "single_transformer_blocks", c.single_layers,
                                [c](const Scope& block) { return SingleBlock(block, c); }),
      norm_out(w / "norm_out", c.width(), 2),
      proj_out(w / "proj_out", c.width(), c.out_channels) {}

Tensor Transformer::operator()(const Tensor& x, std::span<const Position> positions, int64_t rows, const Conditions& given,
                               const AddedAfterBlocks& added) const {
  const auto [n, T, K] = x.dims<3>();
  if (K != config.in_channels || T < 1 || T != std::ssize(positions) || rows < 1 || rows > T)
    fail<ShapeError>("flux1: tokens {} at {} positions, {} of them predicted, expected [n, T, {}] and as many positions", x.shape(),
                     positions.size(), rows, config.in_channels);
  check_conditions(config, given, n);
  const int64_t L = given.text.size(1);
  const Tensor temb = time_text_embed(given, n);
  Tensor image = in_block("x_embedder", [&] { return x_embedder(x); });
  Tensor text = in_block("context_embedder", [&] { return context_embedder(given.text); });
  const Tensor table = rotary_table(config, L, positions, x.backend());
  for (auto block = transformer_blocks.begin(); block != transformer_blocks.end(); ++block) {
    (*block)(image, text, temb, table);
    for (const auto& list : added.double_blocks) image = ops::add(image, list.after(int64_t(block.index()), config.layers));
  }
  Tensor both = ops::concat({text, image}, 1);
  image = text = {};
  for (auto block = single_transformer_blocks.begin(); block != single_transformer_blocks.end(); ++block) {
    both = (*block)(both, temb, table);
    if (added.single_blocks.empty()) continue;
    Tensor rest = both.slice(1, L, L + T);
    for (const auto& list : added.single_blocks) rest = ops::add(rest, list.after(int64_t(block.index()), config.single_layers));
    both = ops::concat({both.slice(1, 0, L), rest}, 1);
  }
  const BlockScope block("norm_out");
  return proj_out(norm_out(temb).norm(both.slice(1, L, L + rows), 1, 0, eps, Stored::plain));
}

}  // namespace hearth::models::flux1
