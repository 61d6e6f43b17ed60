// Control networks in runs of SANA, after diffusers' SanaControlNetPipeline, 0.39.0.
#pragma once

#include "models/diffusion/control.h"
#include "models/sana/config.h"
#include "weights/layout/given_component.h"

namespace hearth::models::sana {

// The control network of a file, for a model with these configurations. WeightError if it is for another transformer; UnsupportedError for
// SANA-Sprint.
std::shared_ptr<const diffusion::ControlModel> control_for(const GivenComponent& given, const SanaConfig& model);

}  // namespace hearth::models::sana
