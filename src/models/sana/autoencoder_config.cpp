#include "models/sana/autoencoder_config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/json.h"
#include "parts/config_reading.h"

namespace hearth::models::sana {
namespace {

using parts::positive_integer;

// One name for all levels, or one for each.
std::vector<std::string> names_of_levels(const Config& c, const std::string& key, const char* otherwise, size_t levels) {
  const std::string stated = c.dump(key);
  const std::vector<std::string> names =
      stated.starts_with('[') ? c.texts(key) : std::vector<std::string>(levels, stated == "null" ? otherwise : c.text(key));
  if (names.size() != levels)
    fail<WeightError>("{}: '{}' has {} names, expected one for each of {} levels", c.where(), key, names.size(), levels);
  return names;
}

std::vector<std::vector<int64_t>> scales_of_levels(const Config& c, const std::string& key, size_t levels) {
  const std::string stated = c.dump(key);
  if (stated == "null") {
    std::vector<std::vector<int64_t>> all(levels);
    for (size_t i = 3; i < levels; ++i) all[i] = {5};
    return all;
  }
  std::vector<std::vector<int64_t>> all;
  const auto wrong = [&] { fail<WeightError>("{}: '{}' is {}, expected a list of lists of odd numbers", c.where(), key, stated); };
  for (const nlohmann::json& level : parse_json(stated, c.where())) {
    if (!level.is_array()) wrong();
    all.emplace_back();
    for (const nlohmann::json& kernel : level) {
      const int64_t size = kernel.is_number_integer() ? kernel.get<int64_t>() : 0;
      if (size < 1 || size % 2 == 0) wrong();
      all.back().push_back(size);
    }
  }
  if (all.size() != levels)
    fail<WeightError>("{}: '{}' has {} lists, expected one for each of {} levels", c.where(), key, all.size(), levels);
  return all;
}

std::vector<DcLevel> levels_of(const Config& c, const std::string& half, const std::vector<int64_t>& standard_layers) {
  const auto key = [&](const char* name) { return fmt::format("{}_{}", half, name); };
  const std::vector<int64_t> channels = c.integers(key("block_out_channels"), {{128, 256, 512, 512, 1024, 1024}}),
                             layers = c.integers(key("layers_per_block"), standard_layers);
  const size_t count = channels.size();
  if (count < 2) fail<WeightError>("{}: '{}' has {} values, expected at least 2", c.where(), key("block_out_channels"), count);
  if (layers.size() != count)
    fail<WeightError>("{}: {} '{}' and {} '{}', expected equally many", c.where(), layers.size(), key("layers_per_block"), count,
                      key("block_out_channels"));
  const auto types = names_of_levels(c, key("block_types"), "ResBlock", count);
  const auto scales = scales_of_levels(c, key("qkv_multiscales"), count);
  std::vector<DcLevel> levels;
  for (size_t i = 0; i < count; ++i) {
    if (channels[i] < 1 || layers[i] < (i == 0 ? 0 : 1))
      fail<WeightError>("{}: level {} has {} channels and {} blocks, expected at least one of each", c.where(), i, channels[i], layers[i]);
    if (types[i] != "ResBlock" && types[i] != "EfficientViTBlock")
      fail<UnsupportedError>("{}: '{}' contains \"{}\", which is not supported, expected ResBlock or EfficientViTBlock", c.where(),
                             key("block_types"), types[i]);
    levels.push_back({.attention = types[i] == "EfficientViTBlock", .channels = channels[i], .blocks = layers[i], .scales = scales[i]});
  }
  return levels;
}

// Neighboring levels that a shortcut averages or repeats.
void require_divisible(const Config& c, const std::vector<DcLevel>& levels, const char* half) {
  for (size_t i = 0; i + 1 < levels.size(); ++i) {
    const int64_t small = 4 * levels[i].channels, large = levels[i + 1].channels;
    if (small % large != 0 || large % 4 != 0)
      fail<WeightError>("{}: levels {} and {} of the {} have {} and {} channels, which a shortcut cannot connect", c.where(), i, i + 1,
                        half, levels[i].channels, large);
  }
}

}  // namespace

AutoencoderDcConfig AutoencoderDcConfig::from(const Config& c) {
  c.only("_class_name", {"AutoencoderDC"});
  parts::refuse_null(
      c, {"attention_head_dim", "decoder_act_fns", "decoder_block_out_channels", "decoder_block_types", "decoder_conv_act_fn",
          "decoder_in_shortcut", "decoder_layers_per_block", "decoder_norm_types", "decoder_qkv_multiscales", "downsample_block_type",
          "encoder_block_out_channels", "encoder_block_types", "encoder_layers_per_block", "encoder_out_shortcut",
          "encoder_qkv_multiscales", "in_channels", "latent_channels", "scaling_factor", "upsample_block_type"});
  AutoencoderDcConfig a;
  a.image_channels = positive_integer(c, "in_channels", 3);
  a.latent_channels = positive_integer(c, "latent_channels", 32);
  a.head_size = positive_integer(c, "attention_head_dim", 32);
  a.encoder = levels_of(c, "encoder", {2, 2, 2, 3, 3, 3});
  a.decoder = levels_of(c, "decoder", {3, 3, 3, 3, 3, 3});
  if (a.encoder.size() != a.decoder.size())
    fail<WeightError>("{}: the encoder has {} levels, the decoder {}, expected equally many", c.where(), a.encoder.size(),
                      a.decoder.size());
  c.only("downsample_block_type", {"pixel_unshuffle", "conv", "Conv"});
  a.unshuffles = c.text("downsample_block_type", "pixel_unshuffle") == "pixel_unshuffle";
  c.only("upsample_block_type", {"pixel_shuffle", "interpolate"});
  a.interpolates = c.text("upsample_block_type", "pixel_shuffle") == "interpolate";
  a.encoder_shortcut = c.boolean("encoder_out_shortcut", true);
  a.decoder_shortcut = c.boolean("decoder_in_shortcut", true);
  a.last_activation = parts::diffusers_activation(c, "decoder_conv_act_fn", "relu");
  a.scaling_factor = float(c.number("scaling_factor", 1));
  if (a.scaling_factor == 0) fail<WeightError>("{}: 'scaling_factor' = 0, expected another value", c.where());
  for (const std::string& norm : names_of_levels(c, "decoder_norm_types", "rms_norm", a.decoder.size()))
    if (norm != "rms_norm")
      fail<UnsupportedError>("{}: 'decoder_norm_types' contains \"{}\", which is not supported, expected rms_norm", c.where(), norm);
  const auto activations = names_of_levels(c, "decoder_act_fns", "silu", a.decoder.size());
  for (size_t i = 0; i < activations.size(); ++i) {
    if (activations[i] != "silu" && activations[i] != "relu")
      fail<UnsupportedError>("{}: 'decoder_act_fns' contains \"{}\", which is not supported, expected silu or relu", c.where(),
                             activations[i]);
    a.decoder[i].activation = activations[i] == "relu" ? Activation::relu : Activation::silu;
  }
  require_divisible(c, a.encoder, "encoder");
  require_divisible(c, a.decoder, "decoder");
  for (const auto* levels : {&a.encoder, &a.decoder}) {
    const int64_t last = levels->back().channels;
    if (last % a.latent_channels != 0)
      fail<WeightError>("{}: 'latent_channels' = {} does not divide the {} channels of the last level", c.where(), a.latent_channels, last);
    for (const DcLevel& level : *levels)
      if (level.attention && level.channels < a.head_size)
        fail<WeightError>("{}: a level has {} channels, expected at least 'attention_head_dim' = {}", c.where(), level.channels,
                          a.head_size);
  }
  c.finish();
  return a;
}

}  // namespace hearth::models::sana
