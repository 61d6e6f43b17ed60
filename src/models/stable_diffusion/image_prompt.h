// IP-Adapters of UNets, after diffusers' IPAdapterMixin and the pipelines with it, 0.39.0.
#pragma once

#include "models/diffusion/image_prompts.h"
#include "parts/clip_vision/clip_vision.h"
#include "parts/unet/unet.h"
#include "weights/layout/given_component.h"

namespace hearth::models::stable_diffusion {

// The image encoder of a model, if the user added one to its checkpoint.
struct PromptImageEncoder {
  parts::ClipVisionConfig config;
  diffusion::Slot<parts::ClipVisionModel> slot;
};

// The adapter of a file, for a model with this UNet, whose tensors `denoiser` has. UsageError without an image encoder that the adapter
// needs; WeightError if it is for another UNet or another image encoder.
std::shared_ptr<const diffusion::ImagePromptModel> image_prompt_for(const GivenComponent& given,
                                                                    const std::shared_ptr<TensorSource>& denoiser,
                                                                    const parts::UnetConfig& unet,
                                                                    const std::optional<PromptImageEncoder>& encoder);

// What the UNet attends to in a call for `given`, whose latents are [B, h, w, C]. `size`: of the run, in pixels.
std::vector<parts::ImagePrompt> attended(std::span<const diffusion::ActiveImagePrompt> prompts, const diffusion::Conditioning& given,
                                         const parts::UnetConfig& unet, const Shape& latents, int64_t factor);

}  // namespace hearth::models::stable_diffusion
