// ControlNets in runs of Stable Diffusion 3, after diffusers' StableDiffusion3ControlNetPipeline and
// StableDiffusion3ControlNetInpaintingPipeline, 0.39.0, and Stability's own program for 3.5 large.
#pragma once

#include "models/diffusion/control.h"
#include "models/sd3/checkpoint.h"
#include "models/sd3/transformer.h"
#include "weights/layout/given_component.h"

namespace hearth::models::sd3 {

// The control network of a file, for a model with these configurations. `denoiser`: the transformer's tensors, among them the patches and
// positions that Stability's networks share. WeightError if it is for another transformer.
std::shared_ptr<const diffusion::ControlModel> control_for(GivenComponent& given, const std::shared_ptr<TensorSource>& denoiser,
                                                           const Sd3Config& model);

}  // namespace hearth::models::sd3
