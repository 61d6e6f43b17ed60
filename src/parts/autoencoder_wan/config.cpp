#include "parts/autoencoder_wan/config.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "parts/config_reading.h"

namespace hearth::parts {
namespace {

// Those of the published autoencoder.
const std::vector<double> standard_mean{-.7571, -.7089, -.9113, .1075,  -.1745, .9653,  -.1517, 1.5508,
                                        .4134,  -.0715, .5517,  -.3632, -.1922, -.9497, .2503,  -.2921};
const std::vector<double> standard_std{2.8184, 1.4541, 2.3275, 2.6558, 1.2196, 1.7708, 2.6052, 2.0743,
                                       3.2687, 2.1526, 2.8652, 1.5579, 1.6382, 1.1253, 2.8251, 1.9160};

std::vector<float> statistics(const Config& c, const char* key, const std::vector<double>& standard, int64_t channels) {
  const std::vector<double> values = c.numbers(key, standard);
  if (int64_t(values.size()) != channels)
    fail<WeightError>("{}: '{}' has {} values, expected one for each of {} latent channels", c.where(), key, values.size(), channels);
  return {values.begin(), values.end()};
}

}  // namespace

AutoencoderWanConfig AutoencoderWanConfig::from(const Config& c) {
  c.only("_class_name", {"AutoencoderKLQwenImage"});
  refuse_null(c, {"attn_scales", "base_dim", "dim_mult", "input_channels", "latents_mean", "latents_std", "num_res_blocks",
                  "temperal_downsample", "z_dim"});
  AutoencoderWanConfig v;
  v.image_channels = positive_integer(c, "input_channels", v.image_channels);
  v.latent_channels = positive_integer(c, "z_dim", v.latent_channels);
  v.base = positive_integer(c, "base_dim", v.base);
  v.multipliers = c.integers("dim_mult", v.multipliers);
  for (const int64_t m : v.multipliers)
    if (m < 1) fail<WeightError>("{}: 'dim_mult' contains {}, expected at least 1", c.where(), m);
  if (v.multipliers.size() < 2) fail<WeightError>("{}: 'dim_mult' has {} levels, expected at least 2", c.where(), v.multipliers.size());
  v.layers = positive_integer(c, "num_res_blocks", v.layers);
  if (c.has("temperal_downsample")) {
    v.halves_frames = c.boolean_per_level("temperal_downsample", v.multipliers.size() - 1);
  } else if (v.halves_frames.size() != v.multipliers.size() - 1) {
    fail<WeightError>("{}: {} levels in 'dim_mult' without 'temperal_downsample', expected one entry less", c.where(),
                      v.multipliers.size());
  }
  // A block of the decoder receives half the channels of the block before.
  for (size_t i = 1; i + 1 < v.multipliers.size(); ++i)
    if (v.multipliers[i] * v.base % 2 != 0)
      fail<WeightError>("{}: {} channels at a level ('base_dim', 'dim_mult'), expected an even number", c.where(),
                        v.multipliers[i] * v.base);
  if (c.dump("attn_scales") != "null" && c.dump("attn_scales") != "[]")
    fail<UnsupportedError>("{}: 'attn_scales' = {} is not supported, expected []", c.where(), c.dump("attn_scales"));
  v.latents_mean = statistics(c, "latents_mean", standard_mean, v.latent_channels);
  v.latents_std = statistics(c, "latents_std", standard_std, v.latent_channels);
  for (const float deviation : v.latents_std)
    if (!(deviation > 0)) fail<WeightError>("{}: 'latents_std' contains {}, expected values above 0", c.where(), deviation);
  c.no_effect({"dropout"});
  c.finish();
  return v;
}

}  // namespace hearth::parts
