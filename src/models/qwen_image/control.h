// ControlNets in runs of Qwen-Image, after diffusers' QwenImageControlNetPipeline and QwenImageControlNetInpaintPipeline, 0.39.0.
#pragma once

#include "models/diffusion/control.h"
#include "models/qwen_image/config.h"
#include "models/qwen_image/transformer.h"
#include "weights/layout/given_component.h"

namespace hearth::models::qwen_image {

// The control network of a file, for a model with these configurations. WeightError if it is for another transformer.
std::shared_ptr<const diffusion::ControlModel> control_for(GivenComponent& given, const QwenImageConfig& model);

}  // namespace hearth::models::qwen_image
