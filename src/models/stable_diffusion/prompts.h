// From a request's prompts to the UNet's conditionings.
#pragma once

#include <vector>

#include "models/clip/towers.h"
#include "models/diffusion/latent_model.h"
#include "models/stable_diffusion/config.h"

namespace hearth::models::stable_diffusion {

// The states of all text encoders side by side, with the family's sizes and the guidance scale of a UNet that receives it.
class UnetPrompts final : public diffusion::ReadPrompts {
 public:
  // `use_negative`, errors: clip::TowerPrompts. `resolved` has size and guidance.
  UnetPrompts(const StableDiffusionConfig& config, std::vector<diffusion::Slot<parts::ClipTextModel>> slots, const ImageTask& task,
              bool use_negative, Backend& host, ResolvedImage& resolved);

  bool has_negative() const override { return texts_.has_negative(); }
  std::vector<std::string> unused() const override;
  std::vector<diffusion::EncodedPrompt> encode(const diffusion::Loaded& networks, Backend& host) const override;

 private:
  const StableDiffusionConfig& config_;
  clip::TowerPrompts texts_;
  bool sees_images_ = false;               // image prompts
  bool zero_negative_ = false;             // the negative prompt is all zeros
  std::vector<std::vector<float>> sizes_;  // the UNet's size conditioning under the prompt and the negative prompt; empty if it has none
  double guidance_;                        // for a UNet that receives the guidance scale
};

}  // namespace hearth::models::stable_diffusion
