// FLUX.2 (Black Forest Labs 2025), after diffusers' Flux2Pipeline and Flux2KleinPipeline, 0.39.0.
//
//   prompt → chat template → language model, three hidden states side by side [1, L, 3·C] → per step: transformer on the latents' tokens,
//   and those of reference images; guidance, sampler → latents [B, h, w, 128] → images
#pragma once

#include "models/flux2/config.h"
#include "models/flux2/transformer.h"
#include "models/image_family.h"

namespace hearth::models::flux2 {

class Flux2 final : public diffusion::LatentModel {
 public:
  explicit Flux2(const Checkpoint& checkpoint);

  void check_guidance(const sampling::Guidance& guidance) const override;
  std::unique_ptr<diffusion::ReadPrompts> read_prompts(const ImageTask& task, bool use_negative, Backend& host,
                                                       ResolvedImage& resolved) const override;
  Tensor denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const override;

 private:
  Flux2Config config_;
  diffusion::Slot<parts::DecoderTextEncoder> encoder_;
  diffusion::Slot<Transformer> transformer_;
};

// For ImageFamily::check and ImageFamily::prompt_readers.
std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant);
std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint);

}  // namespace hearth::models::flux2
