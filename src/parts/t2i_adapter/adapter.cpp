#include "parts/t2i_adapter/adapter.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "core/on_host.h"
#include "ops/pool.h"
#include "ops/shape_ops.h"
#include "parts/config_reading.h"
#include "weights/layout/sizes.h"

namespace hearth::parts {
namespace {

using Kind = T2iAdapterConfig::Kind;

// (channels of the image, factor) of the convolution that reads f² pixels per position.
std::optional<std::pair<int64_t, int64_t>> reading_of(int64_t channels) {
  for (const int64_t factor : {8, 16})
    for (const int64_t image : {1, 3})
      if (channels == image * factor * factor) return std::pair(image, factor);
  return std::nullopt;
}

// The gray value of diffusers' users (Pillow's "L"): ITU-R 601 in 16-bit fixed point, on 8-bit values.
Tensor gray_of(const Tensor& image) {
  const auto [B, H, W, C] = image.dims<4>();
  return on_host(
      {B, H, W, 1},
      [n = B * H * W](float* y, const float* x) {
        for (int64_t i = 0; i < n; ++i) {
          const auto level = [&](int64_t c) { return uint32_t(x[3 * i + c] * 255 + 0.5f); };
          y[i] = float((level(0) * 19595 + level(1) * 38470 + level(2) * 7471 + 0x8000) >> 16) / 255;
        }
      },
      image);
}

}  // namespace

T2iAdapterConfig T2iAdapterConfig::from(const Config& c) {
  c.only("_class_name", {"T2IAdapter"});
  refuse_null(c, {"in_channels", "channels", "num_res_blocks", "downscale_factor", "adapter_type"});
  c.only("adapter_type", {"full_adapter", "full_adapter_xl", "light_adapter"});
  const std::string type = c.text("adapter_type", "full_adapter");
  T2iAdapterConfig a{.kind = type == "light_adapter" ? Kind::light : type == "full_adapter_xl" ? Kind::full_xl : Kind::full};
  a.image_channels = positive_integer(c, "in_channels", 3);
  if (a.image_channels != 1 && a.image_channels != 3)
    fail<UnsupportedError>("{}: 'in_channels' = {} is not supported, expected 1 or 3", c.where(), a.image_channels);
  a.channels = c.integers("channels", a.channels);
  if (a.channels.empty() || std::ranges::any_of(a.channels, [](int64_t n) { return n < 1; }))
    fail<WeightError>("{}: 'channels' has {}, expected a list of positive numbers", c.where(), fmt::join(a.channels, ", "));
  a.blocks = positive_integer(c, "num_res_blocks", 2);
  a.factor = positive_integer(c, "downscale_factor", 8);
  c.finish();
  return a;
}

T2iAdapterConfig T2iAdapterConfig::of_tensors(const TensorList& official, const std::string& where) {
  T2iAdapterConfig a{.channels = {}, .blocks = 0};
  const bool light = official.contains("adapter.body.0.out_conv.weight");
  const auto reading = reading_of(axis_of(official, light ? "adapter.body.0.in_conv.weight" : "adapter.conv_in.weight", 1));
  if (!reading) fail<WeightError>("{}: a T2I-Adapter that reads neither 8 × 8 nor 16 × 16 pixels of 1 or 3 channels", where);
  std::tie(a.image_channels, a.factor) = *reading;
  a.kind = light ? Kind::light : a.factor == 16 ? Kind::full_xl : Kind::full;
  while (official.contains(fmt::format("adapter.body.0.resnets.{}.block1.weight", a.blocks))) ++a.blocks;
  for (int64_t i = 0;; ++i) {
    const int64_t width = light ? axis_of(official, fmt::format("adapter.body.{}.out_conv.weight", i), 0)
                                : axis_of(official, fmt::format("adapter.body.{}.resnets.0.block1.weight", i), 0);
    if (width == 0) break;
    a.channels.push_back(width);
  }
  if (light && a.channels.size() > 1) a.channels.pop_back();
  return a;
}

std::vector<T2iAdapterConfig::Feature> T2iAdapterConfig::features() const {
  std::vector<Feature> all;
  for (size_t i = 0; i < channels.size(); ++i) all.push_back({channels[i], kind == Kind::full_xl ? int64_t(i >= 2) : int64_t(i)});
  if (kind == Kind::light) all.push_back({channels.back(), int64_t(channels.size())});
  return all;
}

void require_features_fit(const T2iAdapterConfig& adapter, const UnetConfig& base, int64_t latent_factor, const std::string& where) {
  const auto features = adapter.features();
  // Of each place: channels, and pixels of the image per position.
  std::vector<std::pair<int64_t, int64_t>> wanted, made;
  for (size_t i = 0; i < base.levels.size(); ++i) {
    const bool after_halving = !base.levels[i].attends_down && i + 1 < base.levels.size();
    wanted.emplace_back(base.levels[i].channels, latent_factor << (i + size_t(after_halving)));
  }
  wanted.emplace_back(base.levels.back().channels, latent_factor << (base.levels.size() - 1));  // the middle block
  for (const auto& f : features) made.emplace_back(f.channels, adapter.factor << f.halvings);
  const bool fits =
      made.size() >= base.levels.size() && made.size() <= wanted.size() && std::equal(made.begin(), made.end(), wanted.begin());
  if (fits) return;
  const auto text = [](const auto& places) {
    std::vector<std::string> all;
    for (const auto& [channels, pixels] : places) all.push_back(fmt::format("{} for {}×{} pixels", channels, pixels, pixels));
    return fmt::format("{}", fmt::join(all, ", "));
  };
  fail<WeightError>("{}: makes features of {} channels, the model's UNet needs {}", where, text(made), text(wanted));
}

AdapterResnetBlock::AdapterResnetBlock(const Scope& w, int64_t channels, int64_t second_kernel)
    : block1(w / "block1", channels, channels, 3, ConvSpec::same(3)),
      block2(w / "block2", channels, channels, second_kernel, ConvSpec::same(second_kernel)) {}

Tensor AdapterResnetBlock::operator()(const Tensor& x) const {
  return block2(block1(x, {.activation = Activation::relu, .stored = nn::read_by(block2)}), {.residual = x});
}

Tensor AdapterBlock::operator()(Tensor x) const {
  if (halves) {
    for (const int axis : {1, 2})  // the last window averages what is inside: as if the edge were repeated
      if (const int64_t n = x.size(axis); n % 2) x = ops::concat({x, ops::contiguous(x.slice(axis, n - 1, n))}, axis);
    x = ops::pool(x, {.rows = {.size = 2, .stride = 2}, .columns = {.size = 2, .stride = 2}});
  }
  if (in_conv) x = (*in_conv)(x);
  for (const AdapterResnetBlock& block : resnets) x = block(x);
  return out_conv ? (*out_conv)(x) : x;
}

T2iAdapter::T2iAdapter(const Scope& root, const T2iAdapterConfig& c) : config(c) {
  const Scope w = root / "adapter";
  const int64_t read = c.image_channels * c.factor * c.factor;
  const bool light = c.kind == Kind::light;
  if (!light) conv_in.emplace(w / "conv_in", read, c.channels[0], 3, ConvSpec::same(3));
  const auto features = c.features();
  for (size_t i = 0; i < features.size(); ++i) {
    const Scope block = w / "body" / int64_t(i);
    const int64_t in = i > 0 ? features[i - 1].channels : light ? read : c.channels[0], out = features[i].channels;
    const int64_t width = light ? out / 4 : out;
    AdapterBlock& b = body.emplace_back();
    b.halves = i > 0 && features[i].halvings > features[i - 1].halvings;
    if (light || in != out) b.in_conv.emplace(block / "in_conv", in, width, 1);
    for (int64_t j = 0; j < c.blocks; ++j) b.resnets.emplace_back(block / "resnets" / j, width, light ? 3 : 1);
    if (light) b.out_conv.emplace(block / "out_conv", width, out, 1);
  }
}

std::vector<Tensor> T2iAdapter::operator()(const Tensor& image) const {
  Tensor x = pixel_unshuffle(config.image_channels == 1 ? gray_of(image) : image, config.factor);
  if (conv_in) x = (*conv_in)(x);
  std::vector<Tensor> features;
  for (const AdapterBlock& block : body) features.push_back(x = block(x));
  return features;
}

Tensor pixel_unshuffle(const Tensor& x, int64_t f) {
  const auto [B, H, W, C] = x.dims<4>();
  if (H % f || W % f) fail<ShapeError>("pixel_unshuffle: x {}, expected sides that are multiples of {}", x.shape(), f);
  const int64_t h = H / f, w = W / f;
  return on_host(
      {B, h, w, C * f * f},
      [=, B = B, C = C, W = W](float* y, const float* values) {
        for (int64_t b = 0; b < B; ++b)
          for (int64_t i = 0; i < h; ++i)
            for (int64_t k = 0; k < w; ++k)
              for (int64_t c = 0; c < C; ++c)
                for (int64_t dy = 0; dy < f; ++dy)
                  for (int64_t dx = 0; dx < f; ++dx) *y++ = values[((b * h * f + i * f + dy) * W + k * f + dx) * C + c];
      },
      x);
}

}  // namespace hearth::parts
