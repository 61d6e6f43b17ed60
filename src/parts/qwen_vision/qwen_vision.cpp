#include "parts/qwen_vision/qwen_vision.h"

#include <algorithm>
#include <cmath>

#include "core/observe.h"
#include "core/on_host.h"
#include "ops/rope.h"

namespace hearth::parts {
namespace {

constexpr float eps = 1e-6f;  // of every norm

Tensor indices(std::span<const int32_t> values, Backend& backend) {
  return written_on_host(backend, {int64_t(values.size())}, DType::i32, [&](Tensor& y) { std::ranges::copy(values, y.data<int32_t>()); })
      .to(backend);
}

// Of each patch its row in the first half of the frequencies, its column in the second. As the reference, in f32.
Tensor rotary_table(const QwenVisionConfig& c, const QwenWindows& order, int64_t columns, Backend& backend) {
  const int64_t half = c.head_size() / 2, each = half / 2;
  std::vector<float> frequency;
  for (int64_t i = 0; i < each; ++i) frequency.push_back(1.0f / std::pow(10000.0f, float(2 * i) / float(half)));
  const auto fill = [&](Tensor& y) {
    float* row = y.data<float>();
    for (const int32_t patch : order.patches) {
      for (int64_t i = 0; i < half; ++i) {
        const float angle = float(i < each ? patch / columns : patch % columns) * frequency[size_t(i % each)];
        row[i] = std::cos(angle), row[half + i] = std::sin(angle);
      }
      row += 2 * half;
    }
  };
  return written_on_host(backend, {int64_t(order.patches.size()), 2, half}, DType::f32, fill).to(backend);
}

}  // namespace

QwenWindows::QwenWindows(const QwenVisionConfig& c, int64_t rows, int64_t columns) {
  const int64_t H = rows / c.merge, W = columns / c.merge, side = c.window_side();
  places.resize(size_t(H * W));
  int32_t place = 0;
  for (int64_t top = 0; top < H; top += side)
    for (int64_t left = 0; left < W; left += side) {
      const auto first = int64_t(patches.size());
      for (int64_t y = top; y < std::min(H, top + side); ++y)
        for (int64_t x = left; x < std::min(W, left + side); ++x) {
          places[size_t(y * W + x)] = place++;
          for (int64_t dy = 0; dy < c.merge; ++dy)
            for (int64_t dx = 0; dx < c.merge; ++dx) patches.push_back(int32_t((y * c.merge + dy) * columns + x * c.merge + dx));
        }
      windows.push_back({first, int64_t(patches.size())});
    }
}

QwenVisionBlock::QwenVisionBlock(const Scope& w, const QwenVisionConfig& c, bool whole_)
    : norm1(w / "norm1", c.width, eps),
      norm2(w / "norm2", c.width, eps),
      qkv(w / "attn" / "qkv", c.width, 3 * c.width),
      proj(w / "attn" / "proj", c.width, c.width),
      gate_proj(w / "mlp" / "gate_proj", c.width, c.mlp_width),
      up_proj(w / "mlp" / "up_proj", c.width, c.mlp_width),
      down_proj(w / "mlp" / "down_proj", c.mlp_width, c.width),
      activation(c.activation),
      heads(c.heads),
      whole(whole_),
      path(w.path()) {}

Tensor QwenVisionBlock::operator()(const Tensor& x, const Tensor& table, std::span<const std::array<int64_t, 2>> windows) const {
  const BlockScope block(path);
  const auto [P, C] = x.dims<2>();
  const int64_t N = heads, D = C / N;
  Tensor attended;
  {
    const Tensor all = qkv(norm1(x), nn::inner);
    const auto part = [&, P = P, C = C](int64_t i) { return ops::contiguous(all.slice(1, i * C, (i + 1) * C)).view({P, N, D}); };
    const Tensor q = ops::rope(part(0), table, RotaryPairs::halves), k = ops::rope(part(1), table, RotaryPairs::halves), v = part(2);
    const auto within = [&, C = C](int64_t begin, int64_t end) {
      const auto rows = [&](const Tensor& t) { return t.slice(0, begin, end).view({1, end - begin, N, D}); };
      const AttentionSpec spec{.scale = 1.0f / std::sqrt(float(D)), .factors = qkv.weight.form.factors};
      return ops::attention(rows(q), rows(k), rows(v), spec).view({end - begin, C});
    };
    if (whole || windows.size() == 1) {
      attended = within(0, P);
    } else {
      std::vector<Tensor> parts;
      for (const auto& [begin, end] : windows) parts.push_back(within(begin, end));
      attended = ops::concat(parts, 0);
    }
  }
  const Tensor h = proj(attended, {.residual = x});
  const Tensor normed = norm2(h);
  const Tensor gate = gate_proj(normed, {.activation = activation, .out = DType::f32});
  const Tensor inner = ops::multiply(up_proj(normed, {.out = DType::f32}), gate);
  const Tensor y = down_proj(inner, {.residual = h});
  tap(path, y);
  return y;
}

QwenVision::QwenVision(const Scope& w, const QwenVisionConfig& c)
    : config(c),
      embedding(w.weights().weight((w / "patch_embed" / "proj").path() + ".weight", {c.width, c.channels, c.frames, c.patch, c.patch},
                                   WeightKind::conv)),
      blocks(w / "blocks", c.layers,
             [c](const Scope& block, int64_t i) {
               return QwenVisionBlock(block, c, std::ranges::find(c.whole_layers, i) != c.whole_layers.end());
             }),
      ln_q(w / "merger" / "ln_q", c.width, eps),
      mlp_0(w / "merger" / "mlp" / 0, c.merge * c.merge * c.width, c.merge * c.merge * c.width),
      mlp_2(w / "merger" / "mlp" / 2, c.merge * c.merge * c.width, c.out) {}

Tensor QwenVision::operator()(const Tensor& pixels) const {
  const QwenVisionConfig& c = config;
  if (pixels.rank() != 3 || pixels.size(2) != c.channels || pixels.size(0) < 1 || pixels.size(1) < 1 || pixels.size(0) % c.unit() != 0 ||
      pixels.size(1) % c.unit() != 0)
    fail<ShapeError>("qwen_vision: pixels {}, expected [H, W, {}] with sides that are multiples of {}", pixels.shape(), c.channels,
                     c.unit());
  const int64_t H = pixels.size(0), W = pixels.size(1), rows = H / c.patch, columns = W / c.patch, P = rows * columns;
  Backend& backend = pixels.backend();
  const QwenWindows order(c, rows, columns);
  // An image is a video whose frames are equal.
  const Tensor frames = ops::repeat_batch(pixels.view({1, H, W, c.channels}), c.frames).view({1, c.frames, H, W, c.channels});
  const ConvSpec patches{.frames = {.stride = c.frames}, .rows = {.stride = c.patch}, .columns = {.stride = c.patch}};
  Tensor x = ops::conv(frames, embedding, {}, patches).view({P, c.width});
  tap("patch_embed", x);
  x = ops::gather(x, indices(order.patches, backend));
  const Tensor table = rotary_table(c, order, columns, backend);
  for (const QwenVisionBlock& block : blocks) x = block(x, table, order.windows);
  const BlockScope block("merger");
  const int64_t squares = P / (c.merge * c.merge);
  const Tensor merged = ln_q(x).view({squares, c.merge * c.merge * c.width});
  const Tensor y = mlp_2(mlp_0(merged, {.activation = Activation::gelu, .stored = nn::read_by(mlp_2)}), {.out = DType::f32});
  return ops::gather(y, indices(order.places, backend));
}

}  // namespace hearth::parts
