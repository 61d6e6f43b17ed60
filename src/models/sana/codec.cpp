#include "models/sana/codec.h"

#include <algorithm>

#include "parts/tiles.h"

namespace hearth::models::sana {
namespace {

constexpr int64_t unit = 8;

}  // namespace

diffusion::CodecConfig codec_config(const AutoencoderDcConfig& c) {
  return {.latent_channels = c.latent_channels,
          .factor = c.factor(),
          .draws = false,
          .tile = std::max(unit, 512 / c.factor() / unit * unit),
          .tile_unit = unit};
}

parts::Posterior DcCodec::encode_in_tiles(const Tensor& image, int64_t tile) const {
  parts::check_tile(tile, unit);
  const int64_t f = config.factor, step = tile / unit * (unit - 1);
  if (image.size(1) <= f * tile && image.size(2) <= f * tile) return encode(image);
  const parts::Tiles tiles{.side = f * tile, .step = f * step, .least = 1, .kept = step, .extent = tile - step};
  return {parts::in_tiles(image, tiles, [this](const Tensor& part) { return network.encode(part); }), {}};
}

Tensor DcCodec::to_model(const parts::RawLatents& latents) const { return ops::scaled(latents.z, network.config.scaling_factor, 0); }

Tensor DcCodec::decode(const Tensor& latents) const { return network.decode(ops::scaled(latents, 1 / network.config.scaling_factor, 0)); }

Tensor DcCodec::decode_in_tiles(const Tensor& latents, int64_t tile) const {
  parts::check_tile(tile, unit);
  if (latents.size(1) <= tile && latents.size(2) <= tile) return decode(latents);
  const int64_t f = config.factor, step = tile / unit * (unit - 1);
  const parts::Tiles tiles{.side = tile, .step = step, .least = 1, .kept = f * step, .extent = f * (tile - step)};
  return parts::in_tiles(latents, tiles, [this](const Tensor& part) { return decode(part); });
}

}  // namespace hearth::models::sana
