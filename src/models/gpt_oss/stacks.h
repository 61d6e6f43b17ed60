// The experts of gpt-oss: one tensor for a layer, whose rows are those of the gate and of the values in turn. Blocks of MXFP4 are [out,
// in], other types [in, out].
#pragma once

#include "weights/stacked.h"

namespace hearth::models::gpt_oss {

inline constexpr StackRule stacks[] = {
    {"model.layers.#.mlp.experts.gate_up_proj.weight", "model.layers.#.mlp.experts.#.gate_proj.weight", StackRule::Rows::even},
    {"model.layers.#.mlp.experts.gate_up_proj.weight", "model.layers.#.mlp.experts.#.up_proj.weight", StackRule::Rows::odd},
    {"model.layers.#.mlp.experts.down_proj.weight", "model.layers.#.mlp.experts.#.down_proj.weight"},
    {"model.layers.#.mlp.experts.gate_up_proj", "model.layers.#.mlp.experts.#.gate_proj.weight", StackRule::Rows::even, true},
    {"model.layers.#.mlp.experts.gate_up_proj", "model.layers.#.mlp.experts.#.up_proj.weight", StackRule::Rows::odd, true},
    {"model.layers.#.mlp.experts.down_proj", "model.layers.#.mlp.experts.#.down_proj.weight", StackRule::Rows::all, true},
    {"model.layers.#.mlp.experts.gate_up_proj_bias", "model.layers.#.mlp.experts.#.gate_proj.bias", StackRule::Rows::even},
    {"model.layers.#.mlp.experts.gate_up_proj_bias", "model.layers.#.mlp.experts.#.up_proj.bias", StackRule::Rows::odd},
    {"model.layers.#.mlp.experts.down_proj_bias", "model.layers.#.mlp.experts.#.down_proj.bias"},
};

}  // namespace hearth::models::gpt_oss
