#include "parts/controlnet/files.h"

#include <array>
#include <nlohmann/json.hpp>

#include "parts/unet/names.h"

namespace hearth::parts {
namespace {

constexpr std::array<NameRule, 2> hint_ends{{
    {"input_hint_block.0.*", "controlnet_cond_embedding.conv_in.*"},
    {"middle_block_out.0.*", "controlnet_mid_block.*"},
}};
constexpr std::array<NameRule, 1> any_name{{{"*", "*"}}};

// The UNet's names (the first half of them), the convolutions of the control image at even places of one list, and the output convolutions.
NameMap names_of_authors(const TensorList& stored, const nlohmann::json&) {
  NameMap map = unet_names(blocks_of_original(stored));
  map.push_back({"", "", hint_ends});
  int64_t last = 0;
  while (stored.contains(fmt::format("input_hint_block.{}.weight", last + 2))) last += 2;
  for (int64_t k = 2; k < last; k += 2)
    map.push_back({fmt::format("input_hint_block.{}", k), fmt::format("controlnet_cond_embedding.blocks.{}", k / 2 - 1), any_name});
  map.push_back({fmt::format("input_hint_block.{}", last), "controlnet_cond_embedding.conv_out", any_name});
  for (int64_t i = 0; stored.contains(fmt::format("zero_convs.{}.0.weight", i)); ++i)
    map.push_back({fmt::format("zero_convs.{}.0", i), fmt::format("controlnet_down_blocks.{}", i), any_name});
  return map;
}

// The same for a file whose weights are partly `up` and `down`.
NameMap names_of_control_lora(const TensorList& stored, const nlohmann::json& config) {
  TensorList whole = stored;
  for (const auto& [name, info] : stored)
    if (name.ends_with(".up")) whole[name.substr(0, name.size() - 2) + "weight"] = info;
  return names_of_authors(whole, config);
}

}  // namespace

const NetworkFiles controlnet_files{
    .classes = {"ControlNetModel", "ControlNetUnionModel"},
    .spellings = {{.name = "original",
                   .marks = {"input_hint_block.0.weight", "zero_convs.0.0.weight", "input_blocks.0.0.weight"},
                   .reading = names_of_authors},
                  {.name = "diffusers",
                   .marks = {"controlnet_cond_embedding.conv_in.weight", "controlnet_down_blocks.0.weight", "conv_in.weight"}}},
};

const NetworkFiles control_lora_files{
    .classes = {"ControlLora"},
    .spellings = {{.name = "original", .marks = {"lora_controlnet", "input_hint_block.0.weight"}, .reading = names_of_control_lora}},
    .ignored = {"lora_controlnet"},
};

}  // namespace hearth::parts
