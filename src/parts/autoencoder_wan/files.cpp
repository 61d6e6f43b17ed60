#include "parts/autoencoder_wan/files.h"

#include <array>
#include <nlohmann/json.hpp>

namespace hearth::parts {
namespace {

constexpr std::array<NameRule, 8> ends{{
    {"conv1.*", "quant_conv.*"},
    {"conv2.*", "post_quant_conv.*"},
    {"encoder.conv1.*", "encoder.conv_in.*"},
    {"encoder.head.0.gamma", "encoder.norm_out.gamma"},
    {"encoder.head.2.*", "encoder.conv_out.*"},
    {"decoder.conv1.*", "decoder.conv_in.*"},
    {"decoder.head.0.gamma", "decoder.norm_out.gamma"},
    {"decoder.head.2.*", "decoder.conv_out.*"},
}};
constexpr std::array<NameRule, 5> resnet{{
    {"residual.0.gamma", "norm1.gamma"},
    {"residual.2.*", "conv1.*"},
    {"residual.3.gamma", "norm2.gamma"},
    {"residual.6.*", "conv2.*"},
    {"shortcut.*", "conv_shortcut.*"},
}};
constexpr std::array<NameRule, 3> attention{{
    {"norm.gamma", "norm.gamma"},
    {"to_qkv.*", "to_qkv.*"},
    {"proj.*", "proj.*"},
}};
constexpr std::array<NameRule, 2> resample{{
    {"resample.1.*", "resample.1.*"},
    {"time_conv.*", "time_conv.*"},
}};

// What the decoder has at each resolution: residual blocks, and whether the resolution is doubled behind them.
struct Level {
  int64_t resnets = 0;
  bool doubles = false;
};

std::vector<Level> levels_of_original(const TensorList& vae) {
  std::vector<Level> levels(1);
  for (int64_t i = 0;; ++i) {
    if (vae.contains(fmt::format("decoder.upsamples.{}.residual.0.gamma", i))) {
      ++levels.back().resnets;
    } else if (vae.contains(fmt::format("decoder.upsamples.{}.resample.1.weight", i))) {
      levels.back().doubles = true;
      levels.emplace_back();
    } else {
      return levels;
    }
  }
}

std::vector<Level> levels_of_official(const TensorList& vae) {
  std::vector<Level> levels;
  const auto has = [&](int64_t level, int64_t block) {
    return vae.contains(fmt::format("decoder.up_blocks.{}.resnets.{}.norm1.gamma", level, block));
  };
  for (int64_t i = 0; has(i, 0); ++i) {
    Level& level = levels.emplace_back();
    while (has(i, level.resnets)) ++level.resnets;
    level.doubles = vae.contains(fmt::format("decoder.up_blocks.{}.upsamplers.0.resample.1.weight", i));
  }
  return levels;
}

// The original names count the blocks of all resolutions together; so do diffusers' of the encoder, but not of the decoder.
NameMap names(const std::vector<Level>& decoder) {
  NameMap map{{"", "", ends}};
  for (const char* side : {"encoder", "decoder"}) {
    map.push_back({fmt::format("{}.middle.0", side), fmt::format("{}.mid_block.resnets.0", side), resnet});
    map.push_back({fmt::format("{}.middle.1", side), fmt::format("{}.mid_block.attentions.0", side), attention});
    map.push_back({fmt::format("{}.middle.2", side), fmt::format("{}.mid_block.resnets.1", side), resnet});
  }
  int64_t of_encoder = 0, of_decoder = 0;
  for (size_t i = 0; i < decoder.size(); ++i) {
    // A level of the encoder has one residual block less than one of the decoder.
    for (int64_t j = 0; j < decoder[i].resnets - 1 + decoder[i].doubles; ++j, ++of_encoder) {
      const std::string original = fmt::format("encoder.downsamples.{}", of_encoder),
                        official = fmt::format("encoder.down_blocks.{}", of_encoder);
      map.push_back({original, official, resnet});
      map.push_back({original, official, resample});
    }
    for (int64_t j = 0; j < decoder[i].resnets; ++j)
      map.push_back({fmt::format("decoder.upsamples.{}", of_decoder++), fmt::format("decoder.up_blocks.{}.resnets.{}", i, j), resnet});
    if (decoder[i].doubles)
      map.push_back({fmt::format("decoder.upsamples.{}", of_decoder++), fmt::format("decoder.up_blocks.{}.upsamplers.0", i), resample});
  }
  return map;
}

}  // namespace

const NetworkFiles autoencoder_wan_files{
    .classes = {"AutoencoderKLQwenImage"},
    .spellings = {{.name = "original",
                   .marks = {"decoder.middle.0.residual.0.gamma", "decoder.upsamples.0.residual.0.gamma"},
                   .reading = [](const TensorList& stored, const nlohmann::json&) { return names(levels_of_original(stored)); },
                   .writing = [](const TensorList& official) { return names(levels_of_official(official)); }},
                  {.name = "diffusers", .marks = {"decoder.mid_block.resnets.0.norm1.gamma", "decoder.up_blocks.0.resnets.0.norm1.gamma"}}},
    .gguf = {.spelling = "original"},
};

}  // namespace hearth::parts
