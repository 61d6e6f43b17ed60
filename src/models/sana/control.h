// Control networks in runs of SANA, after diffusers' SanaControlNetPipeline, 0.39.0.
#pragma once

#include "models/diffusion/control.h"
#include "models/sana/config.h"
#include "weights/layout/given_component.h"

namespace hearth::models::sana {

// The control network of a file, for a model with these configurations. WeightError if it is for another transformer; UnsupportedError for
// SANA-Sprint.
std::shared_ptr<const diffusion::ControlModel> control_for(const GivenComponent& given, const SanaConfig& model);

// What Transformer adds after its blocks, from what the networks of a call output.
std::vector<std::vector<Tensor>> added_after_blocks(const diffusion::TensorLists& lists);

}  // namespace hearth::models::sana
