#include "models/diffusion/autoencoder.h"

#include "core/error.h"

namespace hearth::models::diffusion {
namespace {

using Network = std::variant<parts::AutoencoderKl, parts::AutoencoderTiny>;

Network network_of(const Scope& w, const AutoencoderConfig& config) {
  if (const auto* tiny = std::get_if<parts::AutoencoderTinyConfig>(&config.network))
    return parts::AutoencoderTiny(w, *tiny, config.codec.encodes ? parts::TinyHalves::both : parts::TinyHalves::decoder);
  return parts::AutoencoderKl(w, std::get<parts::AutoencoderKlConfig>(config.network));
}

}  // namespace

AutoencoderConfig AutoencoderConfig::from(const Checkpoint& checkpoint) {
  const Config config = checkpoint.config("vae");
  AutoencoderConfig a;
  if (checkpoint.component("vae").class_name == "AutoencoderTiny") {
    const auto tiny = parts::AutoencoderTinyConfig::from(config);
    const int64_t halved = int64_t(1) << (tiny.encoder_blocks.size() - 1);
    if (halved != tiny.factor())
      fail<WeightError>("{}: the encoder scales images down {} times, the decoder scales them up {} times, expected equal factors",
                        config.where(), halved, tiny.factor());
    a.network = tiny;
    a.codec = {.draws = false, .encodes = !checkpoint.is_decoder_alone("vae"), .tile = parts::default_tile(tiny), .tile_unit = 8};
  } else {
    const auto kl = parts::AutoencoderKlConfig::from(config);
    a.network = kl;
    a.codec.tile = parts::default_tile(kl);
  }
  std::visit(
      [&a](const auto& c) {
        a.in_channels = c.in_channels, a.out_channels = c.out_channels;
        a.codec.latent_channels = c.latent_channels, a.codec.factor = c.factor();
        a.scaling_factor = c.scaling_factor, a.shift_factor = c.shift_factor;
      },
      a.network);
  return a;
}

void require_same_latents(const AutoencoderConfig& refiner, const AutoencoderConfig& base, const std::string& where) {
  if (refiner.codec.latent_channels != base.codec.latent_channels || refiner.codec.factor != base.codec.factor)
    fail<WeightError>("{}: the refiner's latents have {} channels and {} pixels per side, expected the model's {} and {}", where,
                      refiner.codec.latent_channels, refiner.codec.factor, base.codec.latent_channels, base.codec.factor);
  if (refiner.network.index() == base.network.index() &&
      (refiner.scaling_factor != base.scaling_factor || refiner.shift_factor != base.shift_factor))
    fail<WeightError>("{}: the refiner's latents are scaled by {} and shifted by {}, expected the model's {} and {}", where,
                      refiner.scaling_factor, refiner.shift_factor, base.scaling_factor, base.shift_factor);
  const auto *own = std::get_if<parts::AutoencoderKlConfig>(&refiner.network),
             *others = std::get_if<parts::AutoencoderKlConfig>(&base.network);
  if (own && others && (own->latents_mean != others->latents_mean || own->latents_std != others->latents_std))
    fail<WeightError>("{}: the refiner's latents_mean and latents_std differ from the model's, expected equal ones", where);
}

Autoencoder::Autoencoder(const Scope& w, const AutoencoderConfig& c) : Codec(c.codec), network(network_of(w, c)) {}

parts::Posterior Autoencoder::encode(const Tensor& image) const {
  return std::visit([&](const auto& n) { return n.encode(image); }, network);
}

parts::Posterior Autoencoder::encode_in_tiles(const Tensor& image, int64_t tile) const {
  return std::visit([&](const auto& n) { return n.encode_in_tiles(image, tile); }, network);
}

Tensor Autoencoder::to_model(const parts::RawLatents& latents) const {
  return std::visit([&](const auto& n) { return n.to_model(latents); }, network);
}

Tensor Autoencoder::decode(const Tensor& latents) const {
  return std::visit([&](const auto& n) { return n.decode(latents); }, network);
}

Tensor Autoencoder::decode_in_tiles(const Tensor& latents, int64_t tile) const {
  return std::visit([&](const auto& n) { return n.decode_in_tiles(latents, tile); }, network);
}

}  // namespace hearth::models::diffusion
