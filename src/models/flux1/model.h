// FLUX.1 (Black Forest Labs 2024), after diffusers' FluxPipeline and related pipelines, 0.39.0.
//
//   prompt → CLIP-L, pooled [1, 768]; prompt_2 → T5, states [1, L, 4096] → per step: transformer on the latents' tokens, and those of
//   reference images; guidance, sampler → latents [B, h, w, 16] → images
#pragma once

#include "models/flux1/config.h"
#include "models/flux1/prompts.h"
#include "models/flux1/redux.h"
#include "models/flux1/transformer.h"
#include "models/image_family.h"

namespace hearth::models::flux1 {

class Flux final : public diffusion::LatentModel {
 public:
  explicit Flux(const Checkpoint& checkpoint);

  void check_guidance(const sampling::Guidance& guidance) const override;
  std::unique_ptr<diffusion::ReadPrompts> read_prompts(const ImageTask& task, bool use_negative, Backend& host,
                                                       ResolvedImage& resolved) const override;
  diffusion::EncodedPrompt with_references(const diffusion::Loaded& networks, const ImageTask& task, diffusion::EncodedPrompt prompt,
                                           Backend& host) const override;
  Tensor denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const override;
  std::shared_ptr<const diffusion::ControlModel> control_for(GivenComponent& given,
                                                             const std::shared_ptr<TensorSource>& denoiser) const override;
  const diffusion::AutoencoderConfig* autoencoder() const override { return &config_.vae; }

 private:
  FluxConfig config_;
  Encoders encoders_;
  diffusion::Slot<Transformer> transformer_;
  std::optional<image_prompt::Redux> redux_;
};

// For ImageFamily::check and ImageFamily::prompt_readers.
std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant);
std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint);

}  // namespace hearth::models::flux1
