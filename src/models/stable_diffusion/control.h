// ControlNets and T2I-Adapters of UNets, after diffusers' StableDiffusionControlNetPipeline, StableDiffusionAdapterPipeline and their
// relatives, 0.39.0.
#pragma once

#include "models/diffusion/control.h"
#include "parts/unet/config.h"
#include "weights/layout/given_component.h"

namespace hearth::models::stable_diffusion {

// Names in diffusion::TensorLists: what a UNet adds (parts::UnetResiduals).
inline constexpr std::string_view of_skips = "skips", of_middle = "middle", of_features = "features";

std::vector<NetworkPlace> control_places();  // ImageFamily::controls

// The control network of a file, for a model with this UNet. WeightError if it is for another UNet; errors of its configuration.
// `latent_factor`: pixels per latent pixel, each way. `denoiser`: the UNet's tensors, which complete those of a Control-LoRA.
std::shared_ptr<const diffusion::ControlModel> control_for(GivenComponent& given, const std::shared_ptr<TensorSource>& denoiser,
                                                           const parts::UnetConfig& unet, int64_t latent_factor);

}  // namespace hearth::models::stable_diffusion
