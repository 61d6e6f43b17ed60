#include "models/stable_diffusion/vae.h"

#include "core/error.h"

namespace hearth::models::stable_diffusion {
namespace {

using Network = std::variant<parts::AutoencoderKl, parts::AutoencoderTiny>;

Network network_of(const Scope& w, const VaeConfig& config) {
  if (const auto* tiny = std::get_if<parts::AutoencoderTinyConfig>(&config.network))
    return parts::AutoencoderTiny(w, *tiny, config.encodes ? parts::TinyHalves::both : parts::TinyHalves::decoder);
  return parts::AutoencoderKl(w, std::get<parts::AutoencoderKlConfig>(config.network));
}

}  // namespace

VaeConfig VaeConfig::from(const Checkpoint& checkpoint) {
  const Config config = checkpoint.config("vae");
  VaeConfig v;
  if (checkpoint.component("vae").class_name == "AutoencoderTiny") {
    const auto tiny = parts::AutoencoderTinyConfig::from(config);
    const int64_t halved = int64_t(1) << (tiny.encoder_blocks.size() - 1);
    if (halved != tiny.factor())
      fail<WeightError>("{}: the encoder makes pictures {} times smaller, the decoder {} times larger", config.where(), halved,
                        tiny.factor());
    v.network = tiny;
    v.draws = false;
    v.encodes = !checkpoint.is_decoder_alone("vae");
    v.tile = parts::default_tile(tiny), v.tile_unit = 8;
  } else {
    const auto kl = parts::AutoencoderKlConfig::from(config);
    v.network = kl;
    v.tile = parts::default_tile(kl);
  }
  std::visit(
      [&v](const auto& c) {
        v.in_channels = c.in_channels, v.out_channels = c.out_channels, v.latent_channels = c.latent_channels;
        v.scaling_factor = c.scaling_factor, v.factor_ = c.factor();
      },
      v.network);
  return v;
}

Vae::Vae(const Scope& w, const VaeConfig& c) : config(c), network(network_of(w, c)) {}

parts::Posterior Vae::encode(const Tensor& picture) const {
  return std::visit([&](const auto& n) { return n.encode(picture); }, network);
}

Tensor Vae::to_model(const parts::RawLatents& latents) const {
  return std::visit([&](const auto& n) { return n.to_model(latents); }, network);
}

Tensor Vae::decode(const Tensor& latents) const {
  return std::visit([&](const auto& n) { return n.decode(latents); }, network);
}

Tensor Vae::decode_in_tiles(const Tensor& latents, int64_t tile) const {
  return std::visit([&](const auto& n) { return n.decode_in_tiles(latents, tile); }, network);
}

}  // namespace hearth::models::stable_diffusion
