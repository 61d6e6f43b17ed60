// Z-Image (Alibaba 2025), after diffusers' ZImagePipeline and its image-to-image and inpainting relatives, 0.39.0.
//
//   prompt → chat template → language model, second to last hidden state [1, L, C] → per step: transformer on the latents' tokens;
//   guidance, sampler → latents [B, h, w, 16] → images
#pragma once

#include "models/image_family.h"
#include "models/z_image/config.h"
#include "models/z_image/transformer.h"

namespace hearth::models::z_image {

class ZImage final : public diffusion::LatentModel {
 public:
  explicit ZImage(const Checkpoint& checkpoint);

  void check_guidance(const sampling::Guidance& guidance) const override;
  std::unique_ptr<diffusion::ReadPrompts> read_prompts(const ImageTask& task, bool use_negative, Backend& host,
                                                       ResolvedImage& resolved) const override;
  Tensor denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const override;
  std::shared_ptr<const diffusion::ControlModel> control_for(GivenComponent& given,
                                                             const std::shared_ptr<TensorSource>& denoiser) const override;
  const diffusion::AutoencoderConfig* autoencoder() const override { return &config_.vae; }

 private:
  ZImageConfig config_;
  diffusion::Slot<parts::DecoderTextEncoder> encoder_;
  diffusion::Slot<Transformer> transformer_;
};

// For ImageFamily::check and ImageFamily::prompt_readers.
std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant);
std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint);

}  // namespace hearth::models::z_image
