#include "parts/autoencoder_tiny/config.h"

#include <algorithm>

#include "parts/config_reading.h"

namespace hearth::parts {
namespace {

// The width of all levels; `blocks` receives the number of blocks of each level.
int64_t read_levels(const Config& c, const std::string& side, std::vector<int64_t>& blocks) {
  const std::string widths = side + "_block_out_channels", counts = "num_" + side + "_blocks";
  blocks = c.integers(counts, {blocks});
  const std::vector<int64_t> channels = c.integers(widths, {std::vector<int64_t>(4, 64)});
  if (channels.empty() || channels.size() != blocks.size())
    fail<WeightError>("{}: {} '{}' and {} '{}', expected equally many", c.where(), channels.size(), widths, blocks.size(), counts);
  for (const int64_t width : channels)
    if (width < 1 || width != channels[0])
      fail<WeightError>("{}: '{}' contains {} and {}, expected one width for all levels", c.where(), widths, channels[0], width);
  for (const int64_t count : blocks)
    if (count < 0) fail<WeightError>("{}: '{}' contains {}, expected at least 0", c.where(), counts, count);
  return channels[0];
}

}  // namespace

AutoencoderTinyConfig AutoencoderTinyConfig::from(const Config& c) {
  c.only("_class_name", {"AutoencoderTiny"});
  refuse_null(c,
              {"act_fn", "decoder_block_out_channels", "encoder_block_out_channels", "in_channels", "latent_channels", "num_decoder_blocks",
               "num_encoder_blocks", "out_channels", "scaling_factor", "upsample_fn", "upsampling_scaling_factor"});
  AutoencoderTinyConfig v;
  v.in_channels = positive_integer(c, "in_channels", 3);
  v.out_channels = positive_integer(c, "out_channels", 3);
  v.latent_channels = positive_integer(c, "latent_channels", 4);
  v.encoder_channels = read_levels(c, "encoder", v.encoder_blocks);
  v.decoder_channels = read_levels(c, "decoder", v.decoder_blocks);
  v.activation = diffusers_activation(c, "act_fn", "relu");
  c.only("upsample_fn", {"nearest"});
  v.upsampling = positive_integer(c, "upsampling_scaling_factor", 2);
  if (v.upsampling > 16) fail<WeightError>("{}: 'upsampling_scaling_factor' = {}, expected at most 16", c.where(), v.upsampling);
  if (std::max(v.encoder_blocks.size(), v.decoder_blocks.size()) > 8)
    fail<WeightError>("{}: {} levels, expected at most 8", c.where(), std::max(v.encoder_blocks.size(), v.decoder_blocks.size()));
  v.scaling_factor = float(c.number("scaling_factor", 1));
  if (v.scaling_factor == 0) fail<WeightError>("{}: 'scaling_factor' = 0, expected another value", c.where());
  v.shift_factor = float(c.number("shift_factor", 0));
  // Latents are clamped only when they are stored as bytes; block_out_channels repeats the decoder's; arithmetic is f32 anyway.
  c.no_effect({"latent_magnitude", "latent_shift", "block_out_channels", "force_upcast"});
  c.finish();
  return v;
}

int64_t AutoencoderTinyConfig::factor() const {
  int64_t factor = 1;
  for (size_t i = 1; i < decoder_blocks.size(); ++i) factor *= upsampling;
  return factor;
}

}  // namespace hearth::parts
