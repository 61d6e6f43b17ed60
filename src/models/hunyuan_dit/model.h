// Hunyuan-DiT (Li et al. 2024, arXiv 2405.08748), after diffusers' HunyuanDiTPipeline, 0.39.0.
//
//   prompt → BERT, states [1, 77, 1024]; mT5, states [1, 256, 2048]; how many rows of each are the text's → per step: transformer on all
//   branches of the guidance, sampler → latents [B, h, w, 4] → images
#pragma once

#include "models/hunyuan_dit/config.h"
#include "models/hunyuan_dit/prompts.h"
#include "models/hunyuan_dit/transformer.h"
#include "models/image_family.h"

namespace hearth::models::hunyuan_dit {

class HunyuanDit final : public diffusion::LatentModel {
 public:
  explicit HunyuanDit(const Checkpoint& checkpoint);

  void check_guidance(const sampling::Guidance& guidance) const override;
  std::unique_ptr<diffusion::ReadPrompts> read_prompts(const ImageTask& task, bool use_negative, Backend& host,
                                                       ResolvedImage& resolved) const override;
  Tensor denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const override;
  std::shared_ptr<const diffusion::ControlModel> control_for(GivenComponent& given,
                                                             const std::shared_ptr<TensorSource>& denoiser) const override;
  const diffusion::AutoencoderConfig* autoencoder() const override { return &config_.vae; }

 private:
  HunyuanConfig config_;
  Encoders encoders_;
  diffusion::Slot<Transformer> transformer_;
};

std::span<const Option> options();
// For ImageFamily::check and ImageFamily::prompt_readers.
std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant);
std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint);

}  // namespace hearth::models::hunyuan_dit
