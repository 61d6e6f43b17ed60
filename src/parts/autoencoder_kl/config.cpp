#include "parts/autoencoder_kl/config.h"

#include "parts/config_reading.h"

namespace hearth::parts {
namespace {

void require_blocks(const Config& c, const char* key, const std::string& type, size_t levels) {
  const std::vector<std::string> types = c.texts(key, {{type}});
  for (const std::string& other : types)
    if (other != type) fail<UnsupportedError>("{}: '{}' contains \"{}\", which is not supported, expected {}", c.where(), key, other, type);
  if (types.size() != levels)
    fail<WeightError>("{}: {} '{}' and {} 'block_out_channels', expected equally many", c.where(), types.size(), key, levels);
}

void read_statistics(const Config& c, AutoencoderKlConfig& v) {
  const auto read = [&](const char* key) {
    if (!c.has(key)) return std::vector<float>();
    const std::vector<double> values = c.numbers(key);
    if (int64_t(values.size()) != v.latent_channels)
      fail<WeightError>("{}: '{}' has {} values, expected one for each of {} latent channels", c.where(), key, values.size(),
                        v.latent_channels);
    return std::vector<float>(values.begin(), values.end());
  };
  v.latents_mean = read("latents_mean"), v.latents_std = read("latents_std");
  if (v.latents_mean.empty() != v.latents_std.empty())
    fail<WeightError>("{}: only one of 'latents_mean' and 'latents_std' is given, expected both or neither", c.where());
  for (const float deviation : v.latents_std)
    if (!(deviation > 0)) fail<WeightError>("{}: 'latents_std' contains {}, expected values above 0", c.where(), deviation);
}

}  // namespace

AutoencoderKlConfig AutoencoderKlConfig::from(const Config& c) {
  c.only("_class_name", {"AutoencoderKL"});
  refuse_null(c, {"act_fn", "block_out_channels", "down_block_types", "in_channels", "latent_channels", "layers_per_block",
                  "mid_block_add_attention", "norm_num_groups", "out_channels", "scaling_factor", "up_block_types", "use_post_quant_conv",
                  "use_quant_conv"});

  AutoencoderKlConfig v;
  v.in_channels = positive_integer(c, "in_channels", 3);
  v.out_channels = positive_integer(c, "out_channels", 3);
  v.latent_channels = positive_integer(c, "latent_channels", 4);
  v.channels = c.integers("block_out_channels", {{64}});
  v.layers = positive_integer(c, "layers_per_block", 1);
  v.activation = diffusers_activation(c, "act_fn", "silu");
  v.groups = positive_integer(c, "norm_num_groups", 32);
  for (int64_t channels : v.channels)
    if (channels < 1 || channels % v.groups)
      fail<WeightError>("{}: 'norm_num_groups' = {} does not divide {} of 'block_out_channels'", c.where(), v.groups, channels);
  require_blocks(c, "down_block_types", "DownEncoderBlock2D", v.channels.size());
  require_blocks(c, "up_block_types", "UpDecoderBlock2D", v.channels.size());
  v.mid_attention = c.boolean("mid_block_add_attention", true);
  v.quant_conv = c.boolean("use_quant_conv", true);
  v.post_quant_conv = c.boolean("use_post_quant_conv", true);

  v.scaling_factor = float(c.number("scaling_factor", 0.18215));
  v.shift_factor = float(c.number("shift_factor", 0));
  if (v.scaling_factor == 0) fail<WeightError>("{}: 'scaling_factor' = 0, expected another value", c.where());
  read_statistics(c, v);
  if (c.dump("sample_size")[0] == '[') {
    const std::vector<int64_t> sides = c.integers("sample_size");
    if (sides.empty()) fail<WeightError>("{}: 'sample_size' is empty, expected a number", c.where());
    v.sample_size = sides[0];  // as in the reference
  } else {
    v.sample_size = c.integer("sample_size", 32);
  }
  if (v.sample_size < 1) fail<WeightError>("{}: 'sample_size' = {}, expected at least 1", c.where(), v.sample_size);
  c.no_effect({"force_upcast"});  // arithmetic is f32 anyway
  c.finish();
  return v;
}

}  // namespace hearth::parts
