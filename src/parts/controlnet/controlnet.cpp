#include "parts/controlnet/controlnet.h"

#include <cmath>

#include "ops/pool.h"

namespace hearth::parts {
namespace {

Tensor mean_over_image(const Tensor& x) { return ops::pool(x, {.rows = {.size = x.size(1)}, .columns = {.size = x.size(2)}}); }

// [1, …] → [B, …]
Tensor for_batch(const Tensor& x, int64_t B) { return x && B > 1 ? ops::repeat_batch(x, B) : x; }

Tensor reversed_channels(const Tensor& image) {
  std::vector<Tensor> channels;
  for (int64_t c = image.size(3); c > 0; --c) channels.push_back(ops::contiguous(image.slice(3, c - 1, c)));
  return ops::concat(channels, 3);
}

}  // namespace

HintEncoder::HintEncoder(const Scope& w, int64_t image_channels, const std::vector<int64_t>& hint_channels, int64_t out)
    : conv_in(w / "conv_in", image_channels, hint_channels[0], 3, ConvSpec::same(3)),
      conv_out(w / "conv_out", hint_channels.back(), out, 3, ConvSpec::same(3)),
      path(w.path()) {
  for (size_t i = 0; i + 1 < hint_channels.size(); ++i) {
    const int64_t from = hint_channels[i], to = hint_channels[i + 1], at = int64_t(2 * i);
    blocks.emplace_back(w / "blocks" / at, from, from, 3, ConvSpec::same(3));
    blocks.emplace_back(w / "blocks" / (at + 1), from, to, 3, ConvSpec::plane(2, {1, 1, 1, 1}));
  }
}

Tensor HintEncoder::operator()(const Tensor& x) const {
  const BlockScope scope(path);
  const nn::Conv2d* layer = &conv_in;
  Tensor h = x;
  for (size_t i = 0; i <= blocks.size(); ++i) {
    const nn::Conv2d* const next = i < blocks.size() ? &blocks[i] : &conv_out;
    h = (*layer)(h, {.activation = Activation::silu, .stored = nn::read_by(*next)});
    layer = next;
  }
  h = conv_out(h);
  tap(path, h);
  return h;
}

ControlNet::ControlNet(const Scope& w, const ControlNetConfig& c)
    : config(c),
      encoder(w, c.unet),
      controlnet_cond_embedding(w / "controlnet_cond_embedding", c.image_channels, c.hint_channels, c.unet.levels[0].channels),
      controlnet_mid_block(w / "controlnet_mid_block", c.unet.levels.back().channels, c.unet.levels.back().channels, 1) {
  const auto add = [&](int64_t channels) {
    controlnet_down_blocks.emplace_back(w / "controlnet_down_blocks" / int64_t(controlnet_down_blocks.size()), channels, channels, 1);
  };
  const auto& levels = c.unet.levels;
  add(levels[0].channels);
  for (size_t i = 0; i < levels.size(); ++i)
    for (int64_t j = 0; j < levels[i].layers + int64_t(i + 1 < levels.size()); ++j) add(levels[i].channels);
  if (c.unified) fusion.emplace(w, c);
}

ControlHint ControlNet::hint(std::span<const ControlImage> images) const {
  const auto features = [&](const ControlImage& c) { return controlnet_cond_embedding(config.bgr ? reversed_channels(c.image) : c.image); };
  if (!fusion) {
    if (images.size() != 1) fail<ShapeError>("controlnet: {} control images, expected 1", images.size());
    return {.features = features(images[0]), .embedding = {}};
  }
  ControlHint all;
  std::vector<int64_t> types;
  for (const ControlImage& image : images) {
    if (image.type < 0 || image.type >= config.unified->types)
      fail<UsageError>("controlnet: control type {}, expected 0 to {}", image.type, config.unified->types - 1);
    types.push_back(image.type);
    const Tensor share = fusion->share(features(image), image.type, image.weight);
    all.features = all.features ? ops::add(all.features, share) : share;
  }
  all.embedding = fusion->embedding(types);
  return all;
}

ControlNet::Residuals ControlNet::operator()(const Tensor& x, std::span<const float> timesteps, const UnetConditions& given,
                                             const ControlHint& hint) const {
  const int64_t B = x.size(0);
  UnetEncoder::Outputs half = encoder(
      x, timesteps, {.given = given, .hint = for_batch(hint.features, B), .added_to_time = for_batch(hint.embedding, B), .features = {}});
  Residuals out;
  for (size_t i = 0; i < half.skips.size(); ++i) {
    out.skips.push_back(controlnet_down_blocks[i](half.skips[i]));
    half.skips[i] = {};
  }
  out.mid = controlnet_mid_block(half.x);
  if (config.pools) {
    for (Tensor& skip : out.skips) skip = mean_over_image(skip);
    out.mid = mean_over_image(out.mid);
  }
  return out;
}

std::vector<float> control_factors(size_t skips, double scale, bool guess) {
  std::vector<float> factors(skips + 1, float(scale));
  if (guess)
    for (size_t i = 0; i <= skips; ++i) factors[i] = float(std::pow(10.0, -1 + double(i) / double(skips)) * scale);
  return factors;
}

}  // namespace hearth::parts
