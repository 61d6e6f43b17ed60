// Stable Diffusion 3 and 3.5 (Esser et al. 2024, arXiv 2403.03206), after diffusers' StableDiffusion3Pipeline and its image-to-image and
// inpainting forms, 0.39.0.
//
//   prompts → CLIP-L, bigG, T5 → context [1, 77 + 256, 4096], pooled [1, 2048] → per step: transformer on all branches of the guidance,
//   sampler → latents [B, h, w, 16] → images
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/image_family.h"
#include "models/sd3/checkpoint.h"
#include "models/sd3/transformer.h"
#include "parts/clip/clip_text.h"
#include "parts/t5/t5_encoder.h"

namespace hearth::models::sd3 {

class Sd3Model final : public diffusion::LatentModel {
 public:
  explicit Sd3Model(const Checkpoint& checkpoint);

  void check_guidance(const sampling::Guidance& guidance) const override;
  std::unique_ptr<diffusion::ReadPrompts> read_prompts(const ImageTask& task, bool use_negative, Backend& host,
                                                       ResolvedImage& resolved) const override;
  Tensor denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const override;
  std::shared_ptr<const diffusion::ControlModel> control_for(GivenComponent& given,
                                                             const std::shared_ptr<TensorSource>& denoiser) const override;
  const diffusion::AutoencoderConfig* autoencoder() const override { return &config_.vae; }

 private:
  Sd3Config config_;
  std::vector<diffusion::Slot<parts::ClipTextModel>> clip_;
  std::optional<diffusion::Slot<parts::T5EncoderModel>> t5_;
  diffusion::Slot<Mmdit> transformer_;
};

std::span<const Option> options();
// For ImageFamily::check and prompt_readers.
std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant);
std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint);

}  // namespace hearth::models::sd3
