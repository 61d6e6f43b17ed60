#include "models/stable_cascade/stage_a.h"

#include <algorithm>

#include "core/observe.h"
#include "core/on_host.h"
#include "models/stable_cascade/patches.h"
#include "parts/config_reading.h"

namespace hearth::models::stable_cascade {
namespace {

constexpr float norm_eps = 1e-6f;

// In a dry run, values that no op treats in a way of their own.
std::vector<float> values_of(const Tensor& x) {
  return x ? unless_dry(x.backend(), std::vector<float>(size_t(x.numel()), 0.5f), [&] { return x.to_vector(); }) : std::vector<float>();
}

int64_t width_of(const StageAConfig& c, int64_t level) { return c.width >> level; }  // level 0: the coarsest

std::vector<std::variant<MixingBlock, nn::TransposedConv2d>> blocks_of(const Scope& w, const StageAConfig& c) {
  std::vector<std::variant<MixingBlock, nn::TransposedConv2d>> all;
  int64_t index = 1;
  for (int64_t level = 0; level < c.levels; ++level) {
    for (int64_t k = 0; k < (level == 0 ? c.blocks : 1); ++k) all.emplace_back(MixingBlock(w / index++, width_of(c, level)));
    if (level + 1 < c.levels)
      all.emplace_back(nn::TransposedConv2d(w / index++, width_of(c, level), width_of(c, level + 1), 4, ConvSpec::plane(2, {1, 1, 1, 1})));
  }
  return all;
}

ConvSpec nearest_edges() {
  ConvSpec spec = ConvSpec::same(3);
  spec.rows.edge = spec.columns.edge = ConvSpec::Edge::nearest;
  return spec;
}

[[noreturn]] void refuse_encoding() { fail<UnsupportedError>("vqgan: is used as a decoder only, expected no image to encode"); }

}  // namespace

StageAConfig StageAConfig::from(const Config& c) {
  using parts::positive_integer;
  c.only("_class_name", {"PaellaVQModel"});
  parts::refuse_null(
      c, {"bottleneck_blocks", "embed_dim", "latent_channels", "levels", "out_channels", "scale_factor", "up_down_scale_factor"});
  StageAConfig a;
  a.latent_channels = positive_integer(c, "latent_channels", 4);
  a.out_channels = positive_integer(c, "out_channels", 3);
  a.pixels = positive_integer(c, "up_down_scale_factor", 2);
  a.levels = positive_integer(c, "levels", 2);
  a.blocks = positive_integer(c, "bottleneck_blocks", 12);
  a.width = positive_integer(c, "embed_dim", 384);
  a.scale_factor = c.number("scale_factor", 0.3764);
  c.no_effect({"in_channels", "num_vq_embeddings"});
  if (a.out_channels != 3) fail<UnsupportedError>("{}: 'out_channels' = {} is not supported, expected 3 (RGB)", c.where(), a.out_channels);
  if (a.levels > 8 || (a.width >> (a.levels - 1)) < 1)
    fail<WeightError>("{}: 'embed_dim' = {} cannot be halved for {} levels", c.where(), a.width, a.levels);
  c.finish();
  return a;
}

diffusion::CodecConfig StageAConfig::codec() const {
  return {.latent_channels = latent_channels, .factor = factor(), .draws = false, .encodes = false, .tile = 128};
}

MixingBlock::MixingBlock(const Scope& w, int64_t channels)
    : depthwise(w / "depthwise" / 1, channels, 3, nearest_edges()),
      in(w / "channelwise" / 0, channels, 4 * channels),
      out(w / "channelwise" / 2, 4 * channels, channels),
      gammas(values_of(w.tensor("gammas", {6}))),
      path(w.path()) {}

Tensor MixingBlock::operator()(const Tensor& x) const {
  const BlockScope scope(path);
  const auto modulated = [&](const Tensor& z, size_t first) {
    return ops::scaled(ops::layer_norm(z, {.eps = norm_eps}), 1 + gammas[first], gammas[first + 1]);
  };
  const Tensor mixed = ops::linear_combination({x, depthwise(modulated(x, 0))}, {1, gammas[2]});
  const Tensor inner = in(modulated(mixed, 3), {.activation = Activation::gelu, .stored = nn::read_by(out)});
  const Tensor y = ops::linear_combination({mixed, out(inner, {.out = mixed.dtype()})}, {1, gammas[5]});
  tap(path, y);
  return y;
}

StageA::StageA(const Scope& w, const StageAConfig& c)
    : Codec(c.codec()),
      settings(c),
      first_(w / "up_blocks" / 0 / 0, c.latent_channels, c.width, 1),
      up_(blocks_of(w / "up_blocks", c)),
      last_(w / "out_block" / 0, width_of(c, c.levels - 1), c.out_channels * c.pixels * c.pixels, 1) {}

parts::Posterior StageA::encode(const Tensor&) const { refuse_encoding(); }
parts::Posterior StageA::encode_in_tiles(const Tensor&, int64_t) const { refuse_encoding(); }

Tensor StageA::to_model(const parts::RawLatents& latents) const { return ops::scaled(latents.z, float(1 / settings.scale_factor), 0); }

Tensor StageA::decode(const Tensor& latents) const {
  if (latents.rank() != 4 || latents.size(3) != settings.latent_channels)
    fail<ShapeError>("vqgan: latents have shape {}, expected [B, H, W, {}]", latents.shape(), settings.latent_channels);
  Tensor x = first_(ops::scaled(latents, float(settings.scale_factor), 0));
  for (const auto& block : up_) x = std::visit([&](const auto& layer) { return layer(x); }, block);
  return ops::scaled(from_patches(last_(x), settings.pixels), 2, -1);  // from 0 … 1
}

Tensor StageA::decode_in_tiles(const Tensor& latents, int64_t tile) const {
  parts::check_tile(tile, config.tile_unit);
  const auto [B, H, W, C] = latents.dims<4>();
  if (H <= tile && W <= tile) return decode(latents);
  const int64_t f = settings.factor(), seen = settings.blocks + 4;  // how far away a latent can change a pixel
  Backend& host = latents.backend().host();
  Tensor image = Tensor::zeros(host, {B, f * H, f * W, settings.out_channels});
  for (int64_t i = 0; i < H; i += tile)
    for (int64_t j = 0; j < W; j += tile) {
      const int64_t top = std::max<int64_t>(0, i - seen), left = std::max<int64_t>(0, j - seen);
      const int64_t below = std::min(H, i + tile), right = std::min(W, j + tile);
      const Tensor part = latents.slice(1, top, std::min(H, below + seen)).slice(2, left, std::min(W, right + seen));
      const Tensor decoded = decode(ops::contiguous(part)).to(host);
      const Tensor own = decoded.slice(1, f * (i - top), f * (below - top)).slice(2, f * (j - left), f * (right - left));
      ops::store(own, image.slice(1, f * i, f * below).slice(2, f * j, f * right));
    }
  return image;
}

}  // namespace hearth::models::stable_cascade
