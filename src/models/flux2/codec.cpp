#include "models/flux2/codec.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/on_host.h"
#include "ops/shape_ops.h"
#include "parts/config_reading.h"

namespace hearth::models::flux2 {
namespace {

constexpr int64_t patch = 2;

// x [..., C] · factor[c] + shift[c], on the host's values.
Tensor by_channel(const Tensor& x, const std::vector<float>& shift, const std::vector<float>& factor, const std::vector<float>& after) {
  const auto each = [&, n = size_t(x.numel()), C = factor.size()](float* to, const float* from) {
    for (size_t i = 0; i < n; ++i) to[i] = (from[i] - shift[i % C]) * factor[i % C] + after[i % C];
  };
  return on_host(x.shape(), each, x);
}

}  // namespace

CodecSettings CodecSettings::from(const Config& c, bool encodes) {
  c.only("_class_name", {"AutoencoderKLFlux2"});
  parts::refuse_null(c, {"batch_norm_eps", "patch_size", "latent_channels"});
  if (const auto sides = c.integers("patch_size", std::vector<int64_t>{patch, patch}); sides != std::vector<int64_t>{patch, patch})
    fail<UnsupportedError>("{}: 'patch_size' = {} is not supported, expected [2, 2]", c.where(), c.dump("patch_size"));
  c.only_null("decoder_block_out_channels");
  // The rest is the network's, whose defaults differ.
  nlohmann::json rest = nlohmann::json::parse(c.dump());
  for (const char* own : {"batch_norm_eps", "batch_norm_momentum", "patch_size", "decoder_block_out_channels"}) rest.erase(own);
  rest["_class_name"] = "AutoencoderKL";
  const std::string level_in = "DownEncoderBlock2D", level_out = "UpDecoderBlock2D";
  const nlohmann::json standard{{"block_out_channels", {128, 256, 512, 512}},
                                {"down_block_types", {level_in, level_in, level_in, level_in}},
                                {"up_block_types", {level_out, level_out, level_out, level_out}},
                                {"layers_per_block", 2},
                                {"latent_channels", 32},
                                {"sample_size", 1024}};
  for (const auto& [key, value] : standard.items())
    if (!rest.contains(key)) rest[key] = value;
  rest["scaling_factor"] = 1, rest["shift_factor"] = 0;
  CodecSettings s{.network = parts::AutoencoderKlConfig::from(Config::parse(rest.dump(), c.where()))};
  s.eps = c.number("batch_norm_eps", 1e-4);
  if (!(s.eps >= 0)) fail<WeightError>("{}: 'batch_norm_eps' is {}, expected a positive number", c.where(), s.eps);
  s.codec = {.latent_channels = patch * patch * s.network.latent_channels,
             .factor = patch * s.network.factor(),
             .draws = false,
             .encodes = encodes,
             .tile = std::max<int64_t>(4, parts::default_tile(s.network) / patch / 4 * 4)};
  return s;
}

Tensor patched(const Tensor& z) {
  const auto [B, H, W, C] = z.dims<4>();
  if (H % patch != 0 || W % patch != 0)
    fail<ShapeError>("flux2: latents {} cannot be put together, expected even height and width", z.shape());
  const Tensor pixels = ops::contiguous(z).view({B, H / patch, patch, W / patch, patch, C});
  return ops::contiguous(pixels.permute({0, 1, 3, 5, 2, 4})).view({B, H / patch, W / patch, patch * patch * C});
}

Tensor unpatched(const Tensor& latents) {
  const auto [B, h, w, K] = latents.dims<4>();
  if (K % (patch * patch) != 0) fail<ShapeError>("flux2: latents {} have {} channels, expected a multiple of 4", latents.shape(), K);
  const int64_t C = K / (patch * patch);
  const Tensor pixels = ops::contiguous(latents).view({B, h, w, C, patch, patch});
  return ops::contiguous(pixels.permute({0, 1, 4, 2, 5, 3})).view({B, patch * h, patch * w, C});
}

PatchAutoencoder::PatchAutoencoder(const Scope& w, const CodecSettings& s) : Codec(s.codec), network_(w, s.network) {
  const int64_t K = s.codec.latent_channels;
  const Tensor mean = w.tensor("bn.running_mean", {K}), variance = w.tensor("bn.running_var", {K});
  mean_.assign(size_t(K), 0), deviation_.assign(size_t(K), 1);
  if (!mean || !variance) return;
  unless_dry(mean.backend(), [&] {
    mean_ = mean.to_vector(), deviation_ = variance.to_vector();
    for (float& v : deviation_) {
      if (!(v >= 0)) fail<WeightError>("vae: 'bn.running_var' contains {}, expected no negative values", v);
      v = std::sqrt(v + float(s.eps));
    }
  });
}

parts::Posterior PatchAutoencoder::encode(const Tensor& image) const { return {.mean = network_.encode(image).mean}; }

parts::Posterior PatchAutoencoder::encode_in_tiles(const Tensor& image, int64_t tile) const {
  return {.mean = network_.encode_in_tiles(image, patch * tile).mean};
}

Tensor PatchAutoencoder::to_model(const parts::RawLatents& latents) const {
  std::vector<float> factor;
  for (const float d : deviation_) factor.push_back(1 / d);
  return by_channel(patched(latents.z), mean_, factor, std::vector<float>(factor.size()));
}

Tensor PatchAutoencoder::raw(const Tensor& latents) const {
  return unpatched(by_channel(latents, std::vector<float>(mean_.size()), deviation_, mean_));
}

Tensor PatchAutoencoder::decode(const Tensor& latents) const { return network_.decode(raw(latents)); }

Tensor PatchAutoencoder::decode_in_tiles(const Tensor& latents, int64_t tile) const {
  return network_.decode_in_tiles(raw(latents), patch * tile);
}

}  // namespace hearth::models::flux2
