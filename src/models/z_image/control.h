// Control networks in runs of Z-Image, after diffusers' ZImageControlNetPipeline and ZImageControlNetInpaintPipeline, 0.39.0.
#pragma once

#include "models/diffusion/control.h"
#include "models/z_image/config.h"
#include "models/z_image/transformer.h"
#include "weights/layout/given_component.h"

namespace hearth::models::z_image {

// Time runs from noise (0) to image (1).
inline float time_of(float timestep) { return (1000 - timestep) / 1000; }

// The control network of a file, for a model with these configurations. `denoiser`: the transformer's tensors, whose embeddings and
// refiners the network shares. Errors of ControlNetConfig.
std::shared_ptr<const diffusion::ControlModel> control_for(GivenComponent& given, const std::shared_ptr<TensorSource>& denoiser,
                                                           const ZImageConfig& model);

// What Transformer adds, from what the networks of a call output.
AddedAfterLayers added_after_layers(const diffusion::TensorLists& lists);

}  // namespace hearth::models::z_image
