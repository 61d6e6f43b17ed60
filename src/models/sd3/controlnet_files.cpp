#include "models/sd3/controlnet_files.h"

#include <array>
#include <nlohmann/json.hpp>

#include "models/slots.h"

namespace hearth::models::sd3 {
namespace {

constexpr std::array<NameRule, 11> block_rules{{
    {"transformer_blocks.#.attn.qkv.weight", "transformer_blocks.#.attn.to_q.weight", form::rows(0, 1, 3)},
    {"transformer_blocks.#.attn.qkv.weight", "transformer_blocks.#.attn.to_k.weight", form::rows(1, 2, 3)},
    {"transformer_blocks.#.attn.qkv.weight", "transformer_blocks.#.attn.to_v.weight", form::rows(2, 3, 3)},
    {"transformer_blocks.#.attn.qkv.bias", "transformer_blocks.#.attn.to_q.bias", form::rows(0, 1, 3)},
    {"transformer_blocks.#.attn.qkv.bias", "transformer_blocks.#.attn.to_k.bias", form::rows(1, 2, 3)},
    {"transformer_blocks.#.attn.qkv.bias", "transformer_blocks.#.attn.to_v.bias", form::rows(2, 3, 3)},
    {"transformer_blocks.#.attn.proj.*", "transformer_blocks.#.attn.to_out.0.*"},
    {"transformer_blocks.#.mlp.fc1.*", "transformer_blocks.#.ff.net.0.proj.*"},
    {"transformer_blocks.#.mlp.fc2.*", "transformer_blocks.#.ff.net.2.*"},
    {"transformer_blocks.#.adaLN_modulation.1.*", "transformer_blocks.#.norm1.linear.*"},
    {"controlnet_blocks.#.*", "controlnet_blocks.#.*"},
}};
constexpr std::array<NameRule, 3> ends{{
    {"pos_embed_input.proj.*", "pos_embed_input.proj.*"},
    {"time_text_embed.*", "time_text_embed.*"},
    {"control_type", "control_type"},
}};

}  // namespace

const NetworkFiles controlnet_files{
    .classes = {"SD3ControlNetModel"},
    .spellings = {{.name = "original",
                   .marks = {"controlnet_blocks.0.weight", "pos_embed_input.proj.weight", "transformer_blocks.0.attn.qkv.weight"},
                   .reading =
                       [](const TensorList&, const nlohmann::json&) {
                         return NameMap{{"", "", ends}, {"", "", block_rules}};
                       }},
                  {.name = "diffusers",
                   .marks = {"controlnet_blocks.0.weight", "pos_embed_input.proj.weight", "transformer_blocks.0.norm1.linear.weight"}}},
    .ignored = {std::string(control_type)},
};

std::vector<NetworkPlace> control_places() { return {{"", &controlnet_files, &slots::control}}; }

}  // namespace hearth::models::sd3
