#include "parts/autoencoder_tiny/autoencoder_tiny.h"

#include <algorithm>
#include <cmath>

#include "core/observe.h"
#include "core/on_host.h"

namespace hearth::parts {
namespace {

std::vector<TinyBlock> blocks_of(const Scope& layers, int64_t& index, int64_t count, int64_t channels, Activation activation) {
  std::vector<TinyBlock> blocks;
  for (int64_t i = 0; i < count; ++i) blocks.emplace_back(layers / index++, channels, activation);
  return blocks;
}

// 3 · tanh(z / 3): the decoder was not trained on latents beyond ±3.
Tensor limited(const Tensor& z) {
  const auto each = [n = z.numel()](float* y, const float* x) {
    for (int64_t i = 0; i < n; ++i) y[i] = std::tanh(x[i] / 3) * 3;
  };
  return on_host(z.shape(), each, z);
}

// The weight of a tile at its pixel i; the first `ramp` pixels overlap the tile before it.
float own_part(int64_t i, int64_t ramp) { return ramp > 1 ? std::min(1.0f, float(i) / float(ramp - 1)) : 1; }

// Writes a tile into an image, both on a host, with its first pixel at `top`, `left`; it fades in if there is a tile before it.
void put(const Tensor& tile, Tensor& image, int64_t top, int64_t left, int64_t ramp) {
  const auto [B, H, W, C] = tile.dims<4>();
  const Tensor place = image.slice(1, top, top + H).slice(2, left, left + W);
  for (int64_t b = 0; b < B; ++b)
    for (int64_t y = 0; y < H; ++y)
      for (int64_t x = 0; x < W; ++x) {
        const float own = (top > 0 ? own_part(y, ramp) : 1) * (left > 0 ? own_part(x, ramp) : 1);
        const float* from = tile.data<float>() + ((b * H + y) * W + x) * C;
        float* to = place.data<float>() + b * place.stride(0) + y * place.stride(1) + x * place.stride(2);
        for (int64_t c = 0; c < C; ++c) to[c] = own * from[c] + (1 - own) * to[c];
      }
}

}  // namespace

TinyBlock::TinyBlock(const Scope& w, int64_t channels, Activation activation_)
    : conv_0(w / "conv" / 0, channels, channels, 3, ConvSpec::same(3)),
      conv_2(w / "conv" / 2, channels, channels, 3, ConvSpec::same(3)),
      conv_4(w / "conv" / 4, channels, channels, 3, ConvSpec::same(3)),
      activation(activation_),
      path(w.path()) {}

Tensor TinyBlock::operator()(const Tensor& x) const {
  const BlockScope scope(path);
  const Tensor h = conv_2(conv_0(x, {.activation = activation, .stored = nn::read_by(conv_2)}),
                          {.activation = activation, .stored = nn::read_by(conv_4)});
  const Tensor y = ops::activate(conv_4(h, {.residual = x}), Activation::relu);
  tap(path, y);
  return y;
}

TinyEncoder::TinyEncoder(const Scope& w, const AutoencoderTinyConfig& c) : path(w.path()) {
  const Scope layers = w / "layers";
  const int64_t C = c.encoder_channels;
  int64_t index = 0;
  for (size_t i = 0; i < c.encoder_blocks.size(); ++i) {
    const Scope conv = layers / index++;
    levels.push_back({i == 0 ? nn::Conv2d(conv, c.in_channels, C, 3, ConvSpec::same(3))
                             : nn::Conv2d(conv, C, C, 3, ConvSpec::plane(2, {1, 1, 1, 1}), nn::Bias::no),
                      blocks_of(layers, index, c.encoder_blocks[i], C, c.activation)});
  }
  levels.push_back({nn::Conv2d(layers / index, C, c.latent_channels, 3, ConvSpec::same(3)), {}});
}

Tensor TinyEncoder::operator()(const Tensor& image) const {
  const BlockScope scope(path);
  Tensor x = ops::scaled(image, 0.5f, 0.5f);  // the network works on images of 0 … 1
  for (const TinyLevel& level : levels) {
    x = level.conv(x);
    for (const TinyBlock& block : level.blocks) x = block(x);
  }
  tap(path, x);
  return x;
}

// The activations after conv_in and each upsampling are entries of the list of layers, too.
TinyDecoder::TinyDecoder(const Scope& w, const AutoencoderTinyConfig& c)
    : conv_in(w / "layers" / 0, c.latent_channels, c.decoder_channels, 3, ConvSpec::same(3)),
      activation(c.activation),
      upsampling(c.upsampling),
      path(w.path()) {
  const Scope layers = w / "layers";
  const int64_t C = c.decoder_channels;
  int64_t index = 2;
  for (size_t i = 0; i < c.decoder_blocks.size(); ++i) {
    const bool last = i + 1 == c.decoder_blocks.size();
    std::vector<TinyBlock> blocks = blocks_of(layers, index, c.decoder_blocks[i], C, c.activation);
    if (!last) ++index;
    levels.push_back({nn::Conv2d(layers / index++, C, last ? c.out_channels : C, 3, ConvSpec::same(3), last ? nn::Bias::yes : nn::Bias::no),
                      std::move(blocks)});
  }
}

Tensor TinyDecoder::operator()(const Tensor& z) const {
  const BlockScope scope(path);
  Tensor x = conv_in(limited(z), {.activation = activation});
  for (const TinyLevel& level : levels) {
    for (const TinyBlock& block : level.blocks) x = block(x);
    x = &level == &levels.back() ? level.conv(x) : level.conv.resized(x, upsampling * x.size(1), upsampling * x.size(2));
  }
  x = ops::scaled(x, 2, -1);  // from 0 … 1
  tap(path, x);
  return x;
}

Tensor raw_latents(const Tensor& latents, const AutoencoderTinyConfig& c) {
  return c.scaling_factor == 1 && c.shift_factor == 0 ? latents : ops::scaled(latents, 1 / c.scaling_factor, c.shift_factor);
}

int64_t default_tile(const AutoencoderTinyConfig& config) { return std::max<int64_t>(8, 512 / config.factor() / 8 * 8); }

AutoencoderTiny::AutoencoderTiny(const Scope& w, const AutoencoderTinyConfig& c, TinyHalves halves) : config(c), decoder(w / "decoder", c) {
  if (halves == TinyHalves::both) encoder.emplace(w / "encoder", [c](const Scope& s) { return TinyEncoder(s, c); });
}

Posterior AutoencoderTiny::encode(const Tensor& image) const {
  if (image.rank() != 4 || image.size(3) != config.in_channels)
    fail<ShapeError>("vae: image has shape {}, expected [B, H, W, {}]", image.shape(), config.in_channels);
  if (!encoder) fail<UnsupportedError>("vae: this AutoencoderTiny is a decoder only, expected one with an encoder");
  return {(**encoder)(image), {}};
}

Posterior AutoencoderTiny::encode_in_tiles(const Tensor& image, int64_t tile) const {
  check_tile(tile, 8);
  const auto [B, H, W, C] = image.dims<4>();
  const int64_t f = config.factor(), side = f * tile, shared = tile / 8, step = tile - shared;
  if (H <= side && W <= side) return encode(image);
  Backend& host = image.backend().host();
  Tensor latents = Tensor::zeros(host, {B, (H + f - 1) / f, (W + f - 1) / f, config.latent_channels});
  for (int64_t i = 0; f * i < H; i += step)
    for (int64_t j = 0; f * j < W; j += step) {
      const Tensor part = image.slice(1, f * i, std::min(H, f * i + side)).slice(2, f * j, std::min(W, f * j + side));
      const Tensor encoded = encode(ops::contiguous(part)).mean.to(host);
      unless_dry(host, [&] { put(encoded, latents, i, j, shared); });
    }
  return {latents, {}};
}

Tensor AutoencoderTiny::to_model(const RawLatents& latents) const {
  if (config.shift_factor == 0 && config.scaling_factor == 1) return latents.z;
  return ops::scaled(latents.z, config.scaling_factor, -config.shift_factor * config.scaling_factor);
}

Tensor AutoencoderTiny::decode(const Tensor& latents) const {
  if (latents.rank() != 4 || latents.size(3) != config.latent_channels)
    fail<ShapeError>("vae: latents have shape {}, expected [B, H, W, {}]", latents.shape(), config.latent_channels);
  return decoder(raw_latents(latents, config));
}

Tensor AutoencoderTiny::decode_in_tiles(const Tensor& latents, int64_t tile) const {
  check_tile(tile, 8);
  const auto [B, H, W, C] = latents.dims<4>();
  if (H <= tile && W <= tile) return decode(latents);
  const int64_t f = config.factor(), shared = tile / 8, step = tile - shared;
  Backend& host = latents.backend().host();
  Tensor image = Tensor::zeros(host, {B, f * H, f * W, config.out_channels});
  for (int64_t i = 0; i < H; i += step)
    for (int64_t j = 0; j < W; j += step) {
      const Tensor part = latents.slice(1, i, std::min(H, i + tile)).slice(2, j, std::min(W, j + tile));
      const Tensor decoded = decode(ops::contiguous(part)).to(host);
      unless_dry(host, [&] { put(decoded, image, f * i, f * j, f * shared); });
    }
  return image;
}

}  // namespace hearth::parts
