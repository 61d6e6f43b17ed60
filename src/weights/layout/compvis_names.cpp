#include "weights/layout/compvis_names.h"

#include <array>

namespace hearth {
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

constexpr std::array<NameRule, 9> autoencoder_ends{{
    {"quant_conv.*", "quant_conv.*"},
    {"post_quant_conv.*", "post_quant_conv.*"},
    {"encoder.conv_in.*", "encoder.conv_in.*"},
    {"encoder.norm_out.*", "encoder.conv_norm_out.*"},
    {"encoder.conv_out.*", "encoder.conv_out.*"},
    {"decoder.conv_in.*", "decoder.conv_in.*"},
    {"decoder.norm_out.*", "decoder.conv_norm_out.*"},
    {"decoder.conv_out.*", "decoder.conv_out.*"},
    {"encoder.down.#.downsample.conv.*", "encoder.down_blocks.#.downsamplers.0.conv.*"},
}};
constexpr std::array<NameRule, 5> autoencoder_resnet{{
    {"norm1.*", "norm1.*"},
    {"conv1.*", "conv1.*"},
    {"norm2.*", "norm2.*"},
    {"conv2.*", "conv2.*"},
    {"nin_shortcut.*", "conv_shortcut.*"},
}};
constexpr std::array<NameRule, 6> autoencoder_level{{
    {"block.#.norm1.*", "resnets.#.norm1.*"},
    {"block.#.conv1.*", "resnets.#.conv1.*"},
    {"block.#.norm2.*", "resnets.#.norm2.*"},
    {"block.#.conv2.*", "resnets.#.conv2.*"},
    {"block.#.nin_shortcut.*", "resnets.#.conv_shortcut.*"},
    {"upsample.conv.*", "upsamplers.0.conv.*"},
}};
constexpr std::array<NameRule, 9> autoencoder_attention{{
    {"norm.*", "group_norm.*"},
    {"q.weight", "to_q.weight", form::kernel},
    {"q.bias", "to_q.bias"},
    {"k.weight", "to_k.weight", form::kernel},
    {"k.bias", "to_k.bias"},
    {"v.weight", "to_v.weight", form::kernel},
    {"v.bias", "to_v.bias"},
    {"proj_out.weight", "to_out.0.weight", form::kernel},
    {"proj_out.bias", "to_out.0.bias"},
}};

constexpr std::array<NameRule, 1> tiny_layer{{{"**", "**"}}};

constexpr std::array<NameRule, 15> open_clip{{
    {"token_embedding.weight", "text_model.embeddings.token_embedding.weight"},
    {"positional_embedding", "text_model.embeddings.position_embedding.weight"},
    {"ln_final.*", "text_model.final_layer_norm.*"},
    {"text_projection", "text_projection.weight", form::transposed},  // x·P there, P·x here
    {"transformer.resblocks.#.ln_1.*", "text_model.encoder.layers.#.layer_norm1.*"},
    {"transformer.resblocks.#.ln_2.*", "text_model.encoder.layers.#.layer_norm2.*"},
    {"transformer.resblocks.#.attn.in_proj_weight", "text_model.encoder.layers.#.self_attn.q_proj.weight", form::rows(0, 1, 3)},
    {"transformer.resblocks.#.attn.in_proj_weight", "text_model.encoder.layers.#.self_attn.k_proj.weight", form::rows(1, 2, 3)},
    {"transformer.resblocks.#.attn.in_proj_weight", "text_model.encoder.layers.#.self_attn.v_proj.weight", form::rows(2, 3, 3)},
    {"transformer.resblocks.#.attn.in_proj_bias", "text_model.encoder.layers.#.self_attn.q_proj.bias", form::rows(0, 1, 3)},
    {"transformer.resblocks.#.attn.in_proj_bias", "text_model.encoder.layers.#.self_attn.k_proj.bias", form::rows(1, 2, 3)},
    {"transformer.resblocks.#.attn.in_proj_bias", "text_model.encoder.layers.#.self_attn.v_proj.bias", form::rows(2, 3, 3)},
    {"transformer.resblocks.#.attn.out_proj.*", "text_model.encoder.layers.#.self_attn.out_proj.*"},
    {"transformer.resblocks.#.mlp.c_fc.*", "text_model.encoder.layers.#.mlp.fc1.*"},
    {"transformer.resblocks.#.mlp.c_proj.*", "text_model.encoder.layers.#.mlp.fc2.*"},
}};

constexpr std::array<NameRule, 5> clip{{
    {"text_model.**", "text_model.**"},
    {"embeddings.**", "text_model.embeddings.**"},
    {"encoder.**", "text_model.encoder.**"},
    {"final_layer_norm.*", "text_model.final_layer_norm.*"},
    {"text_projection.weight", "text_projection.weight"},
}};

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

int64_t levels_of_original_autoencoder(const TensorList& vae) {
  int64_t levels = 0;
  while (vae.contains(fmt::format("decoder.up.{}.block.0.norm1.weight", levels))) ++levels;
  return levels;
}

int64_t levels_of_official_autoencoder(const TensorList& vae) {
  int64_t levels = 0;
  while (vae.contains(fmt::format("decoder.up_blocks.{}.resnets.0.norm1.weight", levels))) ++levels;
  return levels;
}

NameMap autoencoder_kl_names(int64_t levels) {
  NameMap map{{"", "", autoencoder_ends}};
  for (const char* side : {"encoder", "decoder"}) {
    map.push_back({fmt::format("{}.mid.block_1", side), fmt::format("{}.mid_block.resnets.0", side), autoencoder_resnet});
    map.push_back({fmt::format("{}.mid.attn_1", side), fmt::format("{}.mid_block.attentions.0", side), autoencoder_attention});
    map.push_back({fmt::format("{}.mid.block_2", side), fmt::format("{}.mid_block.resnets.1", side), autoencoder_resnet});
  }
  for (int64_t i = 0; i < levels; ++i) {
    map.push_back({fmt::format("encoder.down.{}", i), fmt::format("encoder.down_blocks.{}", i), autoencoder_level});
    map.push_back({fmt::format("decoder.up.{}", levels - 1 - i), fmt::format("decoder.up_blocks.{}", i), autoencoder_level});
  }
  return map;
}

const NameMap& tiny_decoder_names() {
  static const NameMap map = [] {
    NameMap numbers;
    for (int at = 1; at <= 19; ++at) numbers.push_back({std::to_string(at), fmt::format("decoder.layers.{}", at - 1), tiny_layer});
    return numbers;
  }();
  return map;
}

const NameMap& open_clip_names() {
  static const NameMap map{{"", "", open_clip}};
  return map;
}

const NameMap& clip_names() {
  static const NameMap map{{"", "", clip}};
  return map;
}

}  // namespace hearth
