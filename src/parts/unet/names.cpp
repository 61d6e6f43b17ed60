#include "parts/unet/names.h"

#include <array>

namespace hearth::parts {
namespace {

constexpr std::array<NameRule, 6> unet_ends{{
    {"time_embed.0.*", "time_embedding.linear_1.*"},
    {"time_embed.2.*", "time_embedding.linear_2.*"},
    {"input_blocks.0.0.*", "conv_in.*"},
    {"out.0.*", "conv_norm_out.*"},
    {"out.2.*", "conv_out.*"},
    {"label_emb.weight", "class_embedding.weight"},  // a table, of the ×4 upscaler
}};
constexpr std::array<NameRule, 2> added_label{{
    {"label_emb.0.0.*", "add_embedding.linear_1.*"},
    {"label_emb.0.2.*", "add_embedding.linear_2.*"},
}};
constexpr std::array<NameRule, 2> class_label{{
    {"label_emb.0.0.*", "class_embedding.linear_1.*"},
    {"label_emb.0.2.*", "class_embedding.linear_2.*"},
}};
constexpr std::array<NameRule, 6> unet_resnet{{
    {"in_layers.0.*", "norm1.*"},
    {"in_layers.2.*", "conv1.*"},
    {"emb_layers.1.*", "time_emb_proj.*"},
    {"out_layers.0.*", "norm2.*"},
    {"out_layers.3.*", "conv2.*"},
    {"skip_connection.*", "conv_shortcut.*"},
}};
constexpr std::array<NameRule, 4> transformer{{
    {"norm.*", "norm.*"},
    {"proj_in.*", "proj_in.*"},
    {"transformer_blocks.**", "transformer_blocks.**"},
    {"proj_out.*", "proj_out.*"},
}};
constexpr std::array<NameRule, 1> downsampler{{{"op.*", "conv.*"}}};
constexpr std::array<NameRule, 1> upsampler{{{"conv.*", "conv.*"}}};

}  // namespace

UnetBlocks blocks_of_original(const TensorList& unet) {
  UnetBlocks blocks;
  int64_t layers = 0;
  for (int64_t k = 1;; ++k) {
    if (unet.contains(fmt::format("input_blocks.{}.0.op.weight", k))) {
      blocks.layers.push_back(layers);
      layers = 0;
    } else if (unet.contains(fmt::format("input_blocks.{}.0.in_layers.0.weight", k))) {
      ++layers;
    } else {
      break;
    }
  }
  blocks.layers.push_back(layers);
  int64_t block = 0;
  for (auto level = blocks.layers.rbegin(); level != blocks.layers.rend(); ++level) {
    block += *level + 1;
    blocks.attends_up.push_back(unet.contains(fmt::format("output_blocks.{}.1.norm.weight", block - 1)));
  }
  return blocks;
}

UnetBlocks blocks_of_official(const TensorList& unet) {
  UnetBlocks blocks{.class_embedding = unet.contains("class_embedding.linear_1.weight")};
  for (int64_t i = 0; unet.contains(fmt::format("down_blocks.{}.resnets.0.norm1.weight", i)); ++i) {
    int64_t layers = 1;
    while (unet.contains(fmt::format("down_blocks.{}.resnets.{}.norm1.weight", i, layers))) ++layers;
    blocks.layers.push_back(layers);
  }
  int64_t i = 0;
  for (auto level = blocks.layers.rbegin(); level != blocks.layers.rend(); ++level, ++i)
    blocks.attends_up.push_back(unet.contains(fmt::format("up_blocks.{}.attentions.{}.norm.weight", i, *level)));
  return blocks;
}

NameMap unet_names(const UnetBlocks& blocks) {
  NameMap map{{"", "", unet_ends}, {"", "", blocks.class_embedding ? std::span(class_label) : std::span(added_label)}};
  const auto block = [&](int64_t at, const char* side, int64_t child, const std::string& official, std::span<const NameRule> rules) {
    map.push_back({fmt::format("{}.{}.{}", side, at, child), official, rules});
  };
  const size_t levels = blocks.layers.size();
  int64_t at = 1;
  for (size_t i = 0; i < levels; ++i) {
    for (int64_t j = 0; j < blocks.layers[i]; ++j, ++at) {
      block(at, "input_blocks", 0, fmt::format("down_blocks.{}.resnets.{}", i, j), unet_resnet);
      block(at, "input_blocks", 1, fmt::format("down_blocks.{}.attentions.{}", i, j), transformer);
    }
    if (i + 1 < levels) block(at++, "input_blocks", 0, fmt::format("down_blocks.{}.downsamplers.0", i), downsampler);
  }
  map.push_back({"middle_block.0", "mid_block.resnets.0", unet_resnet});
  map.push_back({"middle_block.1", "mid_block.attentions.0", transformer});
  map.push_back({"middle_block.2", "mid_block.resnets.1", unet_resnet});
  at = 0;
  for (size_t i = 0; i < levels; ++i) {
    for (int64_t j = 0; j <= blocks.layers[levels - 1 - i]; ++j, ++at) {
      block(at, "output_blocks", 0, fmt::format("up_blocks.{}.resnets.{}", i, j), unet_resnet);
      block(at, "output_blocks", 1, fmt::format("up_blocks.{}.attentions.{}", i, j), transformer);
    }
    if (i + 1 < levels)
      block(at - 1, "output_blocks", blocks.attends_up[i] ? 2 : 1, fmt::format("up_blocks.{}.upsamplers.0", i), upsampler);
  }
  return map;
}

}  // namespace hearth::parts
