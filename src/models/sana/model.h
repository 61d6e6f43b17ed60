// SANA (Xie et al. 2024, arXiv 2410.10629), SANA 1.5 (arXiv 2501.18427) and SANA-Sprint (arXiv 2503.09641), after diffusers' SanaPipeline,
// SanaSprintPipeline and SanaSprintImg2ImgPipeline, 0.39.0.
//
//   prompt → instruction and prompt → language model, last hidden state, rows of the prompt [1, L, 2304] → per step: transformer on all
//   branches of the guidance; sampler → latents [B, H/32, W/32, 32] → images
#pragma once

#include "models/image_family.h"
#include "models/sana/config.h"
#include "models/sana/transformer.h"

namespace hearth::models::sana {

class Sana final : public diffusion::LatentModel {
 public:
  explicit Sana(const Checkpoint& checkpoint);

  void check_guidance(const sampling::Guidance& guidance) const override;
  std::unique_ptr<diffusion::ReadPrompts> read_prompts(const ImageTask& task, bool use_negative, Backend& host,
                                                       ResolvedImage& resolved) const override;
  Tensor denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const override;
  std::shared_ptr<const diffusion::ControlModel> control_for(GivenComponent& given,
                                                             const std::shared_ptr<TensorSource>& denoiser) const override;

 private:
  SanaConfig config_;
  diffusion::Slot<parts::DecoderTextEncoder> encoder_;
  diffusion::Slot<Transformer> transformer_;
};

// For ImageFamily::check and ImageFamily::prompt_readers.
std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant);
std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint);

}  // namespace hearth::models::sana
