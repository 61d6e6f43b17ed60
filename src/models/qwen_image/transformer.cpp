#include "models/qwen_image/transformer.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/observe.h"
#include "core/on_host.h"
#include "nn/timestep_embedding.h"
#include "ops/rope.h"

namespace hearth::models::qwen_image {
namespace {

constexpr int64_t sinusoid_width = 256;  // of the timestep

// Attention of all heads; q and k [n, S, N, head] before rotation → [n, S, D].
Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& table, DType factors, Stored stored) {
  const auto [n, S, N, head] = q.dims<4>();
  const Tensor y = ops::attention(ops::rope(q, table, RotaryPairs::neighbors), ops::rope(k, table, RotaryPairs::neighbors), v,
                                  {.scale = 1.0f / std::sqrt(float(head)), .factors = factors, .stored = stored});
  return y.view({n, S, N * head});
}

// part(i) for the rows of each i, one after another.   → [n, T, …]
template <class Part> Tensor row_by_row(std::span<const ModulatedRows> m, Part part) {
  if (m.size() == 1) return part(m[0], [](const Tensor& x) { return x; });
  std::vector<Tensor> parts;
  for (const ModulatedRows& r : m) parts.push_back(part(r, [&r](const Tensor& x) { return ops::contiguous(x.slice(1, r.begin, r.end)); }));
  return ops::concat(parts, 1);
}

}  // namespace

void check(const TransformerConfig& c, const Tensor& x, std::span<const Grid> images, const Conditions& given) {
  const auto [n, T, K] = x.dims<3>();
  int64_t tokens = 0;
  for (const Grid& image : images) tokens += image.tokens();
  if (K != c.in_channels || images.empty() || images[0].tokens() < 1 || T != tokens)
    fail<ShapeError>("qwen_image: tokens {} of {} images with {} tokens, expected [n, T, {}] and as many of one image or more", x.shape(),
                     images.size(), tokens, c.in_channels);
  if (!given.text || given.text.rank() != 3 || given.text.size(0) != n || given.text.size(1) < 1 || given.text.size(2) != c.text)
    fail<ShapeError>("qwen_image: text states {}, expected [{}, L, {}]", given.text ? given.text.shape() : Shape(), n, c.text);
  if (given.timesteps.size() != 1 && int64_t(given.timesteps.size()) != n)
    fail<ShapeError>("qwen_image: {} timesteps for {} images, expected 1 or {}", given.timesteps.size(), n, n);
}

Grid grid_of(const Tensor& latents) { return {latents.size(1) / 2, latents.size(2) / 2}; }

Tensor pack(const Tensor& latents) {
  const auto [n, h, w, C] = latents.dims<4>();
  if (h % 2 != 0 || w % 2 != 0)
    fail<ShapeError>("qwen_image: latents {} cannot be packed, expected even height and width", latents.shape());
  const Tensor pixels = ops::contiguous(latents).view({n, h / 2, 2, w / 2, 2, C});
  return ops::contiguous(pixels.permute({0, 1, 3, 5, 2, 4})).view({n, h / 2 * (w / 2), 4 * C});
}

Tensor unpack(const Tensor& tokens, int64_t h, int64_t w) {
  const auto [n, T, K] = tokens.dims<3>();
  if (h % 2 != 0 || w % 2 != 0 || T != h / 2 * (w / 2) || K % 4 != 0)
    fail<ShapeError>("qwen_image: tokens {} are not those of latents of {}×{}", tokens.shape(), h, w);
  const Tensor pixels = ops::contiguous(tokens).view({n, h / 2, w / 2, K / 4, 2, 2});
  return ops::contiguous(pixels.permute({0, 1, 4, 2, 5, 3})).view({n, h, w, K / 4});
}

Tensor rotary_table(const TransformerConfig& c, int64_t text_tokens, std::span<const Grid> images, Backend& backend) {
  const int64_t half = c.head_size / 2;
  int64_t T = 0, largest = 0;
  for (const Grid& image : images) T += image.tokens(), largest = std::max({largest, image.rows / 2, image.columns / 2});
  const Tensor table = written_on_host(backend, {1, text_tokens + T, 1, 2, half}, DType::f32, [&](Tensor& y) {
    float* row = y.data<float>();
    std::array<std::map<int64_t, std::vector<float>>, 3> known;  // rows and columns repeat
    const auto put = [&](const std::array<int64_t, 3>& at) {
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
    for (int64_t l = 0; l < text_tokens; ++l) put({largest + l, largest + l, largest + l});
    for (size_t i = 0; i < images.size(); ++i) {
      const auto [rows, columns] = images[i];
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t s = 0; s < columns; ++s) put({int64_t(i), r - (rows - rows / 2), s - (columns - columns / 2)});
    }
  });
  return table.to(backend);
}

TimeTextEmbed::TimeTextEmbed(const Scope& w, const TransformerConfig& c)
    : timestep_embedder(w / "timestep_embedder", sinusoid_width, c.width()), path(w.path()) {}

Tensor TimeTextEmbed::operator()(std::span<const float> timesteps, int64_t n, Backend& backend) const {
  std::vector<float> each(timesteps.begin(), timesteps.end());
  if (each.size() == 1) each.resize(size_t(n), each[0]);
  const Tensor embedded =
      in_block(path, [&] { return timestep_embedder(nn::embed_timesteps(backend, each, {.channels = sinusoid_width})); });
  return ops::activate(embedded, Activation::silu);
}

JointBlock::Stream::Stream(const Scope& w, const TransformerConfig& c, bool text)
    : mod((w / (text ? "txt_mod" : "img_mod") / 1).exact(), c.width(), 6 * c.width()),
      q(w / "attn" / (text ? "add_q_proj" : "to_q"), c.width(), c.width()),
      k(w / "attn" / (text ? "add_k_proj" : "to_k"), c.width(), c.width()),
      v(w / "attn" / (text ? "add_v_proj" : "to_v"), c.width(), c.width()),
      out(text ? w / "attn" / "to_add_out" : w / "attn" / "to_out" / 0, c.width(), c.width()),
      norm_q(w / "attn" / (text ? "norm_added_q" : "norm_q"), c.head_size, eps),
      norm_k(w / "attn" / (text ? "norm_added_k" : "norm_k"), c.head_size, eps),
      up(w / (text ? "txt_mlp" : "img_mlp") / "net" / 0 / "proj", c.width(), 4 * c.width()),
      down(w / (text ? "txt_mlp" : "img_mlp") / "net" / 2, 4 * c.width(), c.width()),
      heads(c.heads),
      width(c.width()) {}

std::array<Tensor, 3> JointBlock::Stream::projected(const Tensor& x, std::span<const ModulatedRows> m) const {
  const auto [n, T, D] = x.dims<3>();
  const Shape split{n, T, heads, D / heads};
  const Stored whole = nn::read_by(q, k, v), stored = m.size() == 1 ? whole : in_parts(whole);  // the parts have one dtype
  const Tensor h = row_by_row(m, [&](const ModulatedRows& r, const auto& of) { return r.vectors.norm(of(x), 0, 1, eps, stored); });
  const auto [qs, ks, vs] =
      ops::linears(h, {{q.weight, q.bias}, {k.weight, k.bias}, {v.weight, v.bias, nn::inside(keys_of(q.weight.form.factors))}});
  return {norm_q(qs.view(split)), norm_k(ks.view(split)), vs.view(split)};
}

Tensor JointBlock::Stream::finish(const Tensor& x, const Tensor& attended, std::span<const ModulatedRows> m) const {
  return row_by_row(m, [&](const ModulatedRows& r, const auto& of) {
    const Tensor h = out(of(attended), {.gate = r.vectors.gate(2), .residual = of(x)});
    return down(up(r.vectors.norm(h, 3, 4, eps, nn::read_by(up)), {.activation = Activation::gelu_tanh, .stored = nn::read_by(down)}),
                {.gate = r.vectors.gate(5), .residual = h});
  });
}

JointBlock::JointBlock(const Scope& w, const TransformerConfig& c) : image(w, c, false), text(w, c, true), path(w.path()) {}

void JointBlock::operator()(Tensor& x, Tensor& c, std::span<const Rows> rows, const Tensor& table) const {
  const BlockScope block(path);
  const int64_t L = c.size(1), S = L + x.size(1);
  std::vector<ModulatedRows> of_image;
  for (const Rows& r : rows) of_image.push_back({r.begin, r.end, image.modulation(r.temb)});
  const std::vector<ModulatedRows> of_text{{0, L, text.modulation(rows[0].temb)}};
  Tensor attended;
  {
    const std::array<Tensor, 3> a = text.projected(c, of_text), b = image.projected(x, of_image);
    attended = attend(ops::concat({a[0], b[0]}, 1), ops::concat({a[1], b[1]}, 1), ops::concat({a[2], b[2]}, 1), table,
                      image.q.weight.form.factors, in_parts(nn::read_by(image.out, text.out)));
  }
  x = image.finish(x, attended.slice(1, L, S), of_image);
  c = text.finish(c, attended.slice(1, 0, L), of_text);
  tap(path, x);
  tap(path + ".context", c);
}

Transformer::Transformer(const Scope& w, const TransformerConfig& c)
    : config(c),
      time_text_embed(w / "time_text_embed", c),
      txt_norm(w / "txt_norm", c.text, eps),
      txt_in(w / "txt_in", c.text, c.width()),
      img_in(w / "img_in", c.in_channels, c.width()),
      transformer_blocks(w / "transformer_blocks", c.layers, [c](const Scope& block) { return JointBlock(block, c); }),
      norm_out(w / "norm_out", c.width(), 2),
      proj_out(w / "proj_out", c.width(), c.out_channels()) {}

Tensor Transformer::operator()(const Tensor& x, std::span<const Grid> images, const Conditions& given,
                               const AddedAfterBlocks& added) const {
  check(config, x, images, given);
  const int64_t n = x.size(0), T = x.size(1), rows = images[0].tokens();
  Backend& backend = x.backend();
  const Tensor temb = time_text_embed(given.timesteps, n, backend);
  std::vector<JointBlock::Rows> parts{{0, T, temb}};
  if (config.references_at_zero && rows < T) {
    parts[0].end = rows;
    parts.push_back({rows, T, time_text_embed(std::array{0.0f}, n, backend)});
  }
  Tensor image = in_block("img_in", [&] { return img_in(x, {.out = DType::f32}); });
  Tensor text = in_block("txt_in", [&] { return txt_in(txt_norm(given.text), {.out = DType::f32}); });
  const Tensor table = rotary_table(config, text.size(1), images, backend);
  for (auto block = transformer_blocks.begin(); block != transformer_blocks.end(); ++block) {
    (*block)(image, text, parts, table);
    for (const std::vector<Tensor>& tensors : added) {
      const auto k = int64_t(tensors.size());
      image = ops::add(image, tensors[size_t(int64_t(block.index()) / ((config.layers + k - 1) / k))]);
    }
  }
  const BlockScope block("norm_out");
  const Tensor tokens = rows == T ? image : ops::contiguous(image.slice(1, 0, rows));
  return proj_out(norm_out(temb).norm(tokens, 1, 0, eps, Stored::plain), {.out = DType::f32});
}

}  // namespace hearth::models::qwen_image
