// Stable Cascade (Pernias et al. 2023, arXiv 2306.00637), after diffusers' StableCascadePriorPipeline and StableCascadeDecoderPipeline,
// 0.39.0.
//
//   prompt → CLIP, states [1, 77, 1280] and pooled [1, 1280]; images → CLIP's vision tower, vectors [1, n, 768]
//   per step: prior, guidance, sampler → latents [B, ⌈H / 42.67⌉, ⌈W / 42.67⌉, 16] (stage C)
//   per step: decoder, given them and the pooled text, sampler → latents [B, H / 4, W / 4, 4] (stage B) → vqgan → images (stage A)
#pragma once

#include "models/image_family.h"
#include "models/stable_cascade/config.h"
#include "models/stable_cascade/prompts.h"
#include "models/stable_cascade/unet.h"

namespace hearth::models::stable_cascade {

class StableCascade final : public diffusion::LatentModel {
 public:
  explicit StableCascade(const Checkpoint& checkpoint);

  void check_guidance(const sampling::Guidance& guidance) const override;
  std::unique_ptr<diffusion::ReadPrompts> read_prompts(const ImageTask& task, bool use_negative, Backend& host,
                                                       ResolvedImage& resolved) const override;
  diffusion::EncodedPrompt with_references(const diffusion::Loaded& networks, const ImageTask& task, diffusion::EncodedPrompt prompt,
                                           Backend& host) const override;
  Tensor denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const override;
  std::unique_ptr<const diffusion::LatentModel> second() const override;

 private:
  CascadeConfig config_;
  diffusion::Slot<parts::ClipTextModel> text_encoder_;
  diffusion::Slot<parts::ClipVisionModel> image_encoder_;
  diffusion::Slot<Unet> prior_;
};

// Stage B, the second model of a StableCascade.
class CascadeDecoder final : public diffusion::LatentModel {
 public:
  explicit CascadeDecoder(const CascadeConfig& config);

  void check_guidance(const sampling::Guidance& guidance) const override;
  // std::logic_error: it has the first model's.
  std::unique_ptr<diffusion::ReadPrompts> read_prompts(const ImageTask& task, bool use_negative, Backend& host,
                                                       ResolvedImage& resolved) const override;
  Tensor denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const override;

 private:
  diffusion::Slot<Unet> decoder_;
};

std::span<const Option> options();
// For ImageFamily::check and ImageFamily::prompt_readers.
std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant);
std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint);

}  // namespace hearth::models::stable_cascade
