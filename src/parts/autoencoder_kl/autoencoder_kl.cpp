#include "parts/autoencoder_kl/autoencoder_kl.h"

#include <algorithm>

#include "core/on_host.h"
#include "parts/tiles.h"

namespace hearth::parts {
namespace {

constexpr float eps = 1e-6f;

nn::ResnetSpec resnet_spec(const AutoencoderKlConfig& c) { return {.groups = c.groups, .eps = eps, .activation = c.activation}; }

VaeBlock block(const Scope& w, const AutoencoderKlConfig& config, int64_t in, int64_t out, int64_t layers) {
  VaeBlock b;
  for (int64_t j = 0; j < layers; ++j) b.resnets.emplace_back(w / "resnets" / j, j == 0 ? in : out, out, resnet_spec(config));
  b.path = w.path();
  return b;
}

// (x − before[c]) · factor[c] + after[c] of each channel; x [B, H, W, C] f32
Tensor by_channel(const Tensor& x, std::span<const float> before, std::span<const float> factor, std::span<const float> after) {
  const auto each = [&, n = size_t(x.numel()), C = factor.size()](float* to, const float* from) {
    for (size_t i = 0; i < n; ++i) to[i] = (from[i] - before[i % C]) * factor[i % C] + after[i % C];
  };
  return on_host(x.shape(), each, x);
}

Tensor channels(const Tensor& x, int64_t begin, int64_t end) { return ops::contiguous(x.slice(3, begin, end)); }

// mean and logvar [B, ⌊H/f⌋, ⌊W/f⌋, 2·latent_channels]
Tensor moments_of(const AutoencoderKl& vae, const Tensor& image) {
  const auto [B, H, W, C] = image.dims<4>();
  const AutoencoderKlConfig& c = vae.config;
  if (C != c.in_channels) fail<ShapeError>("vae: image {} has {} channels, expected {}", image.shape(), C, c.in_channels);
  if (H < c.factor() || W < c.factor())
    fail<ShapeError>("vae: image {} is too small, expected sides of at least {}", image.shape(), c.factor());
  Tensor moments = (*vae.encoder)(image);
  if (vae.quant_conv) moments = (*vae.quant_conv)(moments);
  tap("quant_conv", moments);
  return moments;
}

Posterior posterior_of(const Tensor& moments, int64_t C) { return {channels(moments, 0, C), channels(moments, C, 2 * C)}; }

}  // namespace

VaeAttention::VaeAttention(const Scope& w, int64_t channels, int64_t groups)
    : group_norm(w / "group_norm", groups, channels, eps), attention(w, channels, channels, 1, channels, nn::Bias::yes), path(w.path()) {}

Tensor VaeAttention::operator()(const Tensor& x) const {
  const BlockScope scope(path);
  const auto [B, H, W, C] = x.dims<4>();
  const Tensor tokens = group_norm(x).view({B, H * W, C});
  const Tensor y = attention(tokens, tokens, x.view({B, H * W, C})).view({B, H, W, C});
  tap(path, y);
  return y;
}

VaeMidBlock::VaeMidBlock(const Scope& w, const AutoencoderKlConfig& config)
    : resnet_0(w / "resnets" / 0, config.channels.back(), config.channels.back(), resnet_spec(config)),
      resnet_1(w / "resnets" / 1, config.channels.back(), config.channels.back(), resnet_spec(config)),
      path(w.path()) {
  if (config.mid_attention) attention.emplace(w / "attentions" / 0, config.channels.back(), config.groups);
}

Tensor VaeMidBlock::operator()(Tensor x) const {
  const BlockScope scope(path);
  x = resnet_0(std::move(x));
  if (attention) x = (*attention)(x);
  x = resnet_1(std::move(x));
  tap(path, x);
  return x;
}

VaeEncoder::VaeEncoder(const Scope& w, const AutoencoderKlConfig& c)
    : conv_in(w / "conv_in", c.in_channels, c.channels[0], 3, ConvSpec::same(3)),
      mid_block(w / "mid_block", c),
      conv_norm_out(w / "conv_norm_out", c.groups, c.channels.back(), eps),
      conv_out(w / "conv_out", c.channels.back(), 2 * c.latent_channels, 3, ConvSpec::same(3)),
      path(w.path()) {
  for (size_t i = 0; i < c.channels.size(); ++i) {
    const Scope scope = w / "down_blocks" / int64_t(i);
    const int64_t C = c.channels[i];
    VaeBlock& b = down_blocks.emplace_back(block(scope, c, c.channels[i == 0 ? 0 : i - 1], C, c.layers));
    // Padded only below and right: symmetric padding would shift the image by half a pixel per level.
    if (i + 1 < c.channels.size()) b.resample.emplace(scope / "downsamplers" / 0 / "conv", C, C, 3, ConvSpec::plane(2, {0, 0, 1, 1}));
  }
}

Tensor VaeEncoder::operator()(const Tensor& image) const {
  const BlockScope scope(path);
  Tensor x = in_block(path + ".conv_in", [&] { return conv_in(image); });
  for (const VaeBlock& b : down_blocks) {
    const BlockScope block_scope(b.path);
    for (const nn::ResnetBlock& resnet : b.resnets) x = resnet(std::move(x));
    if (b.resample) x = (*b.resample)(x);
    tap(b.path, x);
  }
  x = mid_block(x);
  x = conv_out(x, {}, conv_norm_out.input(Activation::silu));
  tap(path, x);
  return x;
}

VaeDecoder::VaeDecoder(const Scope& w, const AutoencoderKlConfig& c)
    : conv_in(w / "conv_in", c.latent_channels, c.channels.back(), 3, ConvSpec::same(3)),
      mid_block(w / "mid_block", c),
      conv_norm_out(w / "conv_norm_out", c.groups, c.channels[0], eps),
      conv_out(w / "conv_out", c.channels[0], c.out_channels, 3, ConvSpec::same(3)),
      path(w.path()) {
  const size_t L = c.channels.size();
  for (size_t i = 0; i < L; ++i) {
    const Scope scope = w / "up_blocks" / int64_t(i);
    const int64_t C = c.channels[L - 1 - i];
    VaeBlock& b = up_blocks.emplace_back(block(scope, c, c.channels[i == 0 ? L - 1 : L - i], C, c.layers + 1));
    if (i + 1 < L) b.resample.emplace(scope / "upsamplers" / 0 / "conv", C, C, 3, ConvSpec::same(3));
  }
}

Tensor VaeDecoder::operator()(const Tensor& z) const {
  const BlockScope scope(path);
  Tensor x = in_block(path + ".conv_in", [&] { return conv_in(z); });
  x = mid_block(x);
  for (const VaeBlock& b : up_blocks) {
    const BlockScope block_scope(b.path);
    for (const nn::ResnetBlock& resnet : b.resnets) x = resnet(std::move(x));
    if (b.resample) x = b.resample->resized(x, 2 * x.size(1), 2 * x.size(2));
    tap(b.path, x);
  }
  x = conv_out(x, {}, conv_norm_out.input(Activation::silu));
  tap(path, x);
  return x;
}

AutoencoderKl::AutoencoderKl(const Scope& w, const AutoencoderKlConfig& c)
    : config(c), encoder(w / "encoder", [c](const Scope& s) { return VaeEncoder(s, c); }), decoder(w / "decoder", c) {
  if (c.quant_conv) quant_conv.emplace(w / "quant_conv", 2 * c.latent_channels, 2 * c.latent_channels, 1);
  if (c.post_quant_conv) post_quant_conv.emplace(w / "post_quant_conv", c.latent_channels, c.latent_channels, 1);
}

Posterior AutoencoderKl::encode(const Tensor& image) const { return posterior_of(moments_of(*this, image), config.latent_channels); }

Posterior AutoencoderKl::encode_in_tiles(const Tensor& image, int64_t tile) const {
  check_tile(tile, 4);
  const int64_t f = config.factor(), side = tile * f, step = tile / 4 * 3;
  if (image.size(1) <= side && image.size(2) <= side) return encode(image);
  const Tiles tiles{.side = side, .step = f * step, .least = f, .kept = step, .extent = tile / 4};
  return posterior_of(in_tiles(image, tiles, [this](const Tensor& part) { return moments_of(*this, part); }), config.latent_channels);
}

Tensor AutoencoderKl::to_model(const RawLatents& latents) const {
  if (!config.latents_std.empty()) {
    std::vector<float> factor;
    for (const float deviation : config.latents_std) factor.push_back(config.scaling_factor / deviation);
    return by_channel(latents.z, config.latents_mean, factor, std::vector<float>(factor.size()));
  }
  return ops::scaled(latents.z, config.scaling_factor, -config.shift_factor * config.scaling_factor);
}

RawLatents AutoencoderKl::from_model(const Tensor& latents) const {
  if (config.latents_std.empty()) return {ops::scaled(latents, 1 / config.scaling_factor, config.shift_factor)};
  std::vector<float> factor;
  for (const float deviation : config.latents_std) factor.push_back(deviation / config.scaling_factor);
  return {by_channel(latents, std::vector<float>(factor.size()), factor, config.latents_mean)};
}

Tensor AutoencoderKl::decode(const Tensor& latents) const {
  if (latents.rank() != 4 || latents.size(3) != config.latent_channels)
    fail<ShapeError>("vae: latents have shape {}, expected [B, H, W, {}]", latents.shape(), config.latent_channels);
  const Tensor z = in_block("post_quant_conv", [&] {
    const Tensor raw = from_model(latents).z;
    return post_quant_conv ? (*post_quant_conv)(raw) : raw;
  });
  return decoder(z);
}

int64_t default_tile(const AutoencoderKlConfig& config) { return std::max<int64_t>(4, config.sample_size / config.factor() / 4 * 4); }

Tensor AutoencoderKl::decode_in_tiles(const Tensor& latents, int64_t tile) const {
  check_tile(tile, 4);
  const auto [B, H, W, C] = latents.dims<4>();
  if (H <= tile && W <= tile) return decode(latents);
  const int64_t f = config.factor(), step = tile / 4 * 3;
  const Tiles tiles{.side = tile, .step = step, .least = 1, .kept = f * step, .extent = f * tile / 4};
  return in_tiles(latents, tiles, [this](const Tensor& part) { return decode(part); });
}

}  // namespace hearth::parts
