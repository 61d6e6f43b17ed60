// ControlNets in runs of FLUX.1, after diffusers' FluxControlNetPipeline and its image-to-image and inpainting forms, 0.39.0.
#pragma once

#include "models/diffusion/control.h"
#include "models/flux1/config.h"
#include "models/flux1/transformer.h"
#include "weights/layout/given_component.h"

namespace hearth::models::flux1 {

// The control network of a file, for a model with these configurations. WeightError if it is for another transformer; UnsupportedError for
// a model with further input channels for an image (Fill, Canny, Depth).
std::shared_ptr<const diffusion::ControlModel> control_for(GivenComponent& given, const FluxConfig& model);

// What the transformer adds, from what the networks of a call output.
AddedAfterBlocks added_after_blocks(const diffusion::TensorLists& lists);

}  // namespace hearth::models::flux1
