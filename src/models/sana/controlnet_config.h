// The config.json of a control network of SANA (SanaControlNetModel of diffusers 0.39.0).
#pragma once

#include "models/sana/transformer_config.h"
#include "weights/layout/name_map.h"

namespace hearth::models::sana {

// Sizes of its blocks; layers: of its own.
TransformerConfig control_config(const Config& config);
// Of a file without a config.json: sizes as its tensors, under official names, show them, and what they do not show as the model that it is
// for has it.
TransformerConfig control_of_tensors(const TensorList& official, const TransformerConfig& model);
// WeightError unless what the network adds fits the model's transformer, and the transformer's inputs the network.
void require_same_sizes(const TransformerConfig& control, const TransformerConfig& model, const std::string& where);

}  // namespace hearth::models::sana
