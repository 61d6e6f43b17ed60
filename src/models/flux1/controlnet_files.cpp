#include "models/flux1/controlnet_files.h"

#include <array>
#include <nlohmann/json.hpp>

#include "models/flux1/transformer_files.h"
#include "models/slots.h"

namespace hearth::models::flux1 {
namespace {

constexpr std::array<NameRule, 10> of_xlabs{{
    {"pos_embed_input.*", "controlnet_x_embedder.*"},
    {"controlnet_blocks.#.*", "controlnet_blocks.#.*"},
    {"input_hint_block.0.*", "input_hint_block.conv_in.*"},
    {"input_hint_block.2.*", "input_hint_block.blocks.0.*"},
    {"input_hint_block.4.*", "input_hint_block.blocks.1.*"},
    {"input_hint_block.6.*", "input_hint_block.blocks.2.*"},
    {"input_hint_block.8.*", "input_hint_block.blocks.3.*"},
    {"input_hint_block.10.*", "input_hint_block.blocks.4.*"},
    {"input_hint_block.12.*", "input_hint_block.blocks.5.*"},
    {"input_hint_block.14.*", "input_hint_block.conv_out.*"},
}};

NameMap names_of_xlabs(const TensorList&, const nlohmann::json&) {
  NameMap map = original_names();
  map.push_back({"", "", of_xlabs});
  return map;
}

}  // namespace

const NetworkFiles controlnet_files{
    .classes = {"FluxControlNetModel"},
    .spellings = {{.name = "XLabs",
                   .marks = {"controlnet_blocks.0.weight", "pos_embed_input.weight", "input_hint_block.0.weight", "img_in.weight"},
                   .reading = names_of_xlabs},
                  {.name = "diffusers", .marks = {"controlnet_blocks.0.weight", "controlnet_x_embedder.weight", "x_embedder.weight"}}},
};

std::vector<NetworkPlace> control_places() { return {{"", &controlnet_files, &slots::control}}; }

}  // namespace hearth::models::flux1
