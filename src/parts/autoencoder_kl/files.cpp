#include "parts/autoencoder_kl/files.h"

#include <array>
#include <nlohmann/json.hpp>

namespace hearth::parts {
namespace {

constexpr std::array<NameRule, 12> autoencoder_ends{{
    {"quant_conv.*", "quant_conv.*"},
    {"post_quant_conv.*", "post_quant_conv.*"},
    {"encoder.conv_in.*", "encoder.conv_in.*"},
    {"encoder.norm_out.*", "encoder.conv_norm_out.*"},
    {"encoder.conv_out.*", "encoder.conv_out.*"},
    {"decoder.conv_in.*", "decoder.conv_in.*"},
    {"decoder.norm_out.*", "decoder.conv_norm_out.*"},
    {"decoder.conv_out.*", "decoder.conv_out.*"},
    {"encoder.down.#.downsample.conv.*", "encoder.down_blocks.#.downsamplers.0.conv.*"},
    {"bn.*", "bn.*"},
    {"encoder.quant_conv.*", "quant_conv.*"},
    {"decoder.post_quant_conv.*", "post_quant_conv.*"},
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

constexpr std::array<Alias, 4> aliases{{
    {"*.mid_block.attentions.#.query.*", "*.mid_block.attentions.#.to_q.*"},
    {"*.mid_block.attentions.#.key.*", "*.mid_block.attentions.#.to_k.*"},
    {"*.mid_block.attentions.#.value.*", "*.mid_block.attentions.#.to_v.*"},
    {"*.mid_block.attentions.#.proj_attn.*", "*.mid_block.attentions.#.to_out.0.*"},
}};

}  // namespace

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

const NetworkFiles autoencoder_kl_files{
    .classes = {"AutoencoderKL", "AutoencoderKLFlux2"},
    .spellings = {{.name = "original",
                   .marks = {"decoder.conv_in.weight", "decoder.mid.block_1.conv1.weight", "decoder.up.0.block.0.conv1.weight"},
                   .reading = [](const TensorList& stored,
                                 const nlohmann::json&) { return autoencoder_kl_names(levels_of_original_autoencoder(stored)); },
                   .writing = [](const TensorList& official) { return autoencoder_kl_names(levels_of_official_autoencoder(official)); }},
                  {.name = "diffusers",
                   .marks = {"decoder.conv_in.weight", "decoder.mid_block.resnets.0.conv1.weight",
                             "decoder.mid_block.resnets.0.norm1.weight", "decoder.up_blocks.0.resnets.0.conv1.weight"}}},
    .aliases = aliases,
    .ignored = {"bn.num_batches_tracked"},  // of a batch norm of the latents
    .encoder = "encoder.",
    .gguf = {.spelling = "original"},
};

std::vector<Signature> autoencoder_kl_signatures(const std::string& name) {
  return {{"autoencoder",
           name,
           "original",
           {"", "first_stage_model.", "vae."},
           {{"encoder.down.3.block.1.conv2.weight", {512, 512, 3, 3}},
            {"encoder.conv_out.weight", {8, 512, 3, 3}},
            {"quant_conv.weight", {8, 8, 1, 1}},
            {"post_quant_conv.weight", {4, 4, 1, 1}},
            {"decoder.conv_in.weight", {512, 4, 3, 3}},
            {"decoder.mid.attn_1.q.weight", {512, 512, 1, 1}}},
           {}},
          {"autoencoder",
           name,
           "diffusers",
           {""},
           {{"encoder.down_blocks.3.resnets.1.conv2.weight", {512, 512, 3, 3}},
            {"encoder.conv_out.weight", {8, 512, 3, 3}},
            {"quant_conv.weight", {8, 8, 1, 1}},
            {"post_quant_conv.weight", {4, 4, 1, 1}},
            {"decoder.conv_in.weight", {512, 4, 3, 3}},
            {"decoder.mid_block.attentions.0.to_q.weight", {512, 512}}},
           {"encoder.temp_conv_in.weight", "quantize.embedding.weight", "decoder.condition_encoder.layers.0.weight"}}};
}

}  // namespace hearth::parts
