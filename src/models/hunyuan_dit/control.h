// ControlNets in runs of Hunyuan-DiT, after diffusers' HunyuanDiTControlNetPipeline, 0.39.0.
#pragma once

#include "models/diffusion/control.h"
#include "models/hunyuan_dit/config.h"
#include "weights/layout/given_component.h"

namespace hearth::models::hunyuan_dit {

// The control network of a file, for a model with these configurations. WeightError if it is for another transformer.
std::shared_ptr<const diffusion::ControlModel> control_for(const GivenComponent& given, const HunyuanConfig& model);

// What Transformer adds to its skips, from what the networks of a call output.
std::span<const Tensor> added_to_skips(const diffusion::TensorLists* lists);

}  // namespace hearth::models::hunyuan_dit
