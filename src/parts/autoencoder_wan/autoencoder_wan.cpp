#include "parts/autoencoder_wan/autoencoder_wan.h"

#include <cmath>

#include "core/error.h"
#include "core/observe.h"
#include "core/on_host.h"
#include "parts/tiles.h"

namespace hearth::parts {
namespace {

// The reference divides by the norm, 10⁻¹² at least; hearth's eps is added to the mean of the squares.
constexpr float eps = 1e-30f;

Tensor activated(const ChannelNorm& norm, const Tensor& x) { return ops::activate(norm(x), Activation::silu); }

// What changes the number of frames has no effect on the first one.
void check_only(const Scope& w, const Shape& weight) {
  w.weights().without_loading([&] { w.tensor("weight", weight), w.tensor("bias", {weight[0]}); });
}

// (x − before[c]) · factor[c] + after[c] of each channel; x [B, H, W, C] f32
Tensor by_channel(const Tensor& x, std::span<const float> before, std::span<const float> factor, std::span<const float> after) {
  const auto each = [&, n = size_t(x.numel()), C = factor.size()](float* to, const float* from) {
    for (size_t i = 0; i < n; ++i) to[i] = (from[i] - before[i % C]) * factor[i % C] + after[i % C];
  };
  return on_host(x.shape(), each, x);
}

Tensor channels(const Tensor& x, int64_t begin, int64_t end) { return ops::contiguous(x.slice(3, begin, end)); }
Posterior posterior_of(const Tensor& moments, int64_t C) { return {channels(moments, 0, C), channels(moments, C, 2 * C)}; }

// mean and logvar [B, ⌊H/f⌋, ⌊W/f⌋, 2·latent_channels]
Tensor moments_of(const AutoencoderWan& vae, const Tensor& image) {
  const auto [B, H, W, C] = image.dims<4>();
  const AutoencoderWanConfig& c = vae.config;
  if (C != c.image_channels) fail<ShapeError>("vae: image {} has {} channels, expected {}", image.shape(), C, c.image_channels);
  if (H < c.factor() || W < c.factor())
    fail<ShapeError>("vae: image {} is too small, expected sides of at least {}", image.shape(), c.factor());
  const Tensor moments = vae.quant_conv((*vae.encoder)(image));
  tap("quant_conv", moments);
  return moments;
}

}  // namespace

ChannelNorm::ChannelNorm(const Scope& w, int64_t channels, bool frames)
    : gamma(w.tensor("gamma", frames ? Shape{channels, 1, 1, 1} : Shape{channels, 1, 1})) {
  if (gamma) gamma = gamma.view({channels});
}

Tensor ChannelNorm::operator()(const Tensor& x) const { return ops::rms_norm(x, {.gamma = gamma, .eps = eps}); }

WanResnet::WanResnet(const Scope& w, int64_t in, int64_t out)
    : norm1(w / "norm1", in),
      norm2(w / "norm2", out),
      conv1(w / "conv1", in, out, 3, 3, ConvSpec::same(3)),
      conv2(w / "conv2", out, out, 3, 3, ConvSpec::same(3)),
      path(w.path()) {
  if (in != out) conv_shortcut.emplace(w / "conv_shortcut", in, out, 1, 1);
}

Tensor WanResnet::operator()(const Tensor& x) const {
  const BlockScope block(path);
  const Tensor h = conv1(activated(norm1, x));
  const Tensor y = conv2(activated(norm2, h), {.residual = conv_shortcut ? (*conv_shortcut)(x) : x});
  tap(path, y);
  return y;
}

WanAttention::WanAttention(const Scope& w, int64_t C)
    : norm(w / "norm", C, false), to_qkv(w / "to_qkv", C, 3 * C, 1), proj(w / "proj", C, C, 1), path(w.path()) {}

Tensor WanAttention::operator()(const Tensor& x) const {
  const BlockScope block(path);
  const auto [B, H, W, C] = x.dims<4>();
  const Tensor qkv = to_qkv(norm(x)).view({B, H * W, 3 * C});
  const auto part = [&, B = B, T = H * W, C = C](int64_t i) {
    return ops::contiguous(qkv.slice(2, i * C, (i + 1) * C)).view({B, T, 1, C});
  };
  const Tensor y = ops::attention(part(0), part(1), part(2), {.scale = 1.0f / std::sqrt(float(C)), .factors = to_qkv.weight.form.factors});
  const Tensor z = proj(y.view({B, H, W, C}), {.residual = x});
  tap(path, z);
  return z;
}

WanMidBlock::WanMidBlock(const Scope& w, int64_t C)
    : resnet_0(w / "resnets" / 0, C, C), attention(w / "attentions" / 0, C), resnet_1(w / "resnets" / 1, C, C) {}

WanEncoder::WanEncoder(const Scope& w, const AutoencoderWanConfig& c)
    : conv_in(w / "conv_in", c.image_channels, c.base, 3, 3, ConvSpec::same(3)),
      mid_block(w / "mid_block", c.base * c.multipliers.back()),
      norm_out(w / "norm_out", c.base * c.multipliers.back()),
      conv_out(w / "conv_out", c.base * c.multipliers.back(), 2 * c.latent_channels, 3, 3, ConvSpec::same(3)),
      path(w.path()) {
  int64_t in = c.base, index = 0;
  for (size_t i = 0; i < c.multipliers.size(); ++i) {
    const int64_t C = c.base * c.multipliers[i];
    Level& level = levels.emplace_back();
    for (int64_t j = 0; j < c.layers; ++j, in = C) level.resnets.emplace_back(w / "down_blocks" / index++, in, C);
    if (i + 1 == c.multipliers.size()) break;
    const Scope scope = w / "down_blocks" / index++;
    level.path = scope.path();
    // Padded only below and right: symmetric padding would shift the image by half a pixel per level.
    level.halving.emplace(scope / "resample" / 1, C, C, 3, ConvSpec::plane(2, {0, 0, 1, 1}));
    if (c.halves_frames[i]) check_only(scope / "time_conv", {C, C, 3, 1, 1});
  }
}

Tensor WanEncoder::operator()(const Tensor& image) const {
  const BlockScope scope(path);
  Tensor x = in_block(path + ".conv_in", [&] { return conv_in(image); });
  for (const Level& level : levels) {
    for (const WanResnet& resnet : level.resnets) x = resnet(x);
    if (level.halving) x = in_block(level.path, [&] { return (*level.halving)(x); });
  }
  x = conv_out(activated(norm_out, mid_block(x)));
  tap(path, x);
  return x;
}

WanDecoder::WanDecoder(const Scope& w, const AutoencoderWanConfig& c)
    : conv_in(w / "conv_in", c.latent_channels, c.base * c.multipliers.back(), 3, 3, ConvSpec::same(3)),
      mid_block(w / "mid_block", c.base * c.multipliers.back()),
      norm_out(w / "norm_out", c.base * c.multipliers.front()),
      conv_out(w / "conv_out", c.base * c.multipliers.front(), c.image_channels, 3, 3, ConvSpec::same(3)),
      path(w.path()) {
  const size_t L = c.multipliers.size();
  for (size_t i = 0; i < L; ++i) {
    const Scope scope = w / "up_blocks" / int64_t(i);
    // Doubling the resolution halves the channels of the level before.
    int64_t in = c.base * c.multipliers[i == 0 ? L - 1 : L - i] / (i == 0 ? 1 : 2);
    const int64_t C = c.base * c.multipliers[L - 1 - i];
    Level& level = levels.emplace_back();
    level.path = scope.path();
    for (int64_t j = 0; j < c.layers + 1; ++j, in = C) level.resnets.emplace_back(scope / "resnets" / j, in, C);
    if (i + 1 == L) break;
    const Scope up = scope / "upsamplers" / 0;
    level.doubling.emplace(up / "resample" / 1, C, C / 2, 3, ConvSpec::same(3));
    if (c.halves_frames[L - 2 - i]) check_only(up / "time_conv", {2 * C, C, 3, 1, 1});
  }
}

Tensor WanDecoder::operator()(const Tensor& z) const {
  const BlockScope scope(path);
  Tensor x = in_block(path + ".conv_in", [&] { return conv_in(z); });
  x = mid_block(x);
  for (const Level& level : levels) {
    for (const WanResnet& resnet : level.resnets) x = resnet(x);
    if (level.doubling) x = level.doubling->resized(x, 2 * x.size(1), 2 * x.size(2));
    tap(level.path, x);
  }
  x = conv_out(activated(norm_out, x));
  tap(path, x);
  return x;
}

AutoencoderWan::AutoencoderWan(const Scope& w, const AutoencoderWanConfig& c)
    : config(c),
      encoder(w / "encoder", [c](const Scope& s) { return WanEncoder(s, c); }),
      decoder(w / "decoder", c),
      quant_conv(w / "quant_conv", 2 * c.latent_channels, 2 * c.latent_channels, 1, 1),
      post_quant_conv(w / "post_quant_conv", c.latent_channels, c.latent_channels, 1, 1) {}

Posterior AutoencoderWan::encode(const Tensor& image) const { return posterior_of(moments_of(*this, image), config.latent_channels); }

Posterior AutoencoderWan::encode_in_tiles(const Tensor& image, int64_t tile) const {
  check_tile(tile, 4);
  const int64_t f = config.factor(), side = tile * f, step = tile / 4 * 3;
  if (image.size(1) <= side && image.size(2) <= side) return encode(image);
  const Tiles tiles{.side = side, .step = f * step, .least = f, .kept = step, .extent = tile / 4};
  return posterior_of(in_tiles(image, tiles, [this](const Tensor& part) { return moments_of(*this, part); }), config.latent_channels);
}

Tensor to_model(const AutoencoderWanConfig& config, const RawLatents& latents) {
  std::vector<float> factor;
  for (const float deviation : config.latents_std) factor.push_back(1 / deviation);
  return by_channel(latents.z, config.latents_mean, factor, std::vector<float>(factor.size()));
}

RawLatents AutoencoderWan::from_model(const Tensor& latents) const {
  return {by_channel(latents, std::vector<float>(config.latents_std.size()), config.latents_std, config.latents_mean)};
}

Tensor AutoencoderWan::decode(const Tensor& latents) const {
  if (latents.rank() != 4 || latents.size(3) != config.latent_channels)
    fail<ShapeError>("vae: latents have shape {}, expected [B, H, W, {}]", latents.shape(), config.latent_channels);
  return decoder(in_block("post_quant_conv", [&] { return post_quant_conv(from_model(latents).z); }));
}

Tensor AutoencoderWan::decode_in_tiles(const Tensor& latents, int64_t tile) const {
  check_tile(tile, 4);
  if (latents.size(1) <= tile && latents.size(2) <= tile) return decode(latents);
  const int64_t f = config.factor(), step = tile / 4 * 3;
  const Tiles tiles{.side = tile, .step = step, .least = 1, .kept = f * step, .extent = f * tile / 4};
  return in_tiles(latents, tiles, [this](const Tensor& part) { return decode(part); });
}

}  // namespace hearth::parts
