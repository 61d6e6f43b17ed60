// PixArt-α (Chen et al. 2023, arXiv 2310.00426) and PixArt-Σ (arXiv 2403.04692), after diffusers' PixArtAlphaPipeline and
// PixArtSigmaPipeline, 0.39.0.
//
//   prompt → T5, states [1, 120 or 300, 4096] and how many are the text's → per step: transformer on all branches of the guidance,
//   sampler → latents [B, h, w, 4] → images
#pragma once

#include "models/image_family.h"
#include "models/pixart/config.h"
#include "models/pixart/transformer.h"
#include "parts/t5/t5_encoder.h"

namespace hearth::models::pixart {

class Pixart final : public diffusion::LatentModel {
 public:
  explicit Pixart(const Checkpoint& checkpoint);

  void check_guidance(const sampling::Guidance& guidance) const override;
  std::unique_ptr<diffusion::ReadPrompts> read_prompts(const ImageTask& task, bool use_negative, Backend& host,
                                                       ResolvedImage& resolved) const override;
  Tensor denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const override;
  const diffusion::AutoencoderConfig* autoencoder() const override { return &config_.vae; }

 private:
  PixartConfig config_;
  diffusion::Slot<parts::T5EncoderModel> t5_;
  diffusion::Slot<Transformer> transformer_;
};

std::span<const Option> options();
// For ImageFamily::check and ImageFamily::prompt_readers.
std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant);
std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint);

}  // namespace hearth::models::pixart
