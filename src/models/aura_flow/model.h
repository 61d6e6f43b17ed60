// AuraFlow (fal 2024), after diffusers' AuraFlowPipeline, 0.39.0.
//
//   prompt → Pile-T5, states [1, 256, 2048], zeros for padding → per step: transformer on all branches of the guidance, sampler
//   → latents [B, h, w, 4] → images
#pragma once

#include "models/aura_flow/config.h"
#include "models/aura_flow/transformer.h"
#include "models/image_family.h"
#include "parts/t5/t5_encoder.h"

namespace hearth::models::aura_flow {

class AuraFlow final : public diffusion::LatentModel {
 public:
  explicit AuraFlow(const Checkpoint& checkpoint);

  void check_guidance(const sampling::Guidance& guidance) const override;
  std::unique_ptr<diffusion::ReadPrompts> read_prompts(const ImageTask& task, bool use_negative, Backend& host,
                                                       ResolvedImage& resolved) const override;
  Tensor denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const override;
  const diffusion::AutoencoderConfig* autoencoder() const override { return &config_.vae; }

 private:
  AuraFlowConfig config_;
  diffusion::Slot<parts::T5EncoderModel> t5_;
  diffusion::Slot<Transformer> transformer_;
};

std::span<const Option> options();
// For ImageFamily::check and ImageFamily::prompt_readers.
std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant);
std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint);

}  // namespace hearth::models::aura_flow
