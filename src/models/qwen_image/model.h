// Qwen-Image and Qwen-Image-Edit (Qwen 2025), after diffusers' QwenImagePipeline, QwenImageImg2ImgPipeline, QwenImageInpaintPipeline,
// QwenImageEditPipeline and QwenImageEditPlusPipeline, 0.39.0.
//
//   prompt between two texts → language model of Qwen 2.5 VL, last states without those of the first text [1, L, C] → per step: transformer
//   on the latents' tokens, and those of reference images; guidance that keeps the norm of each token, sampler → latents [B, h, w, 16] →
//   images
#pragma once

#include "models/image_family.h"
#include "models/qwen_image/codec.h"
#include "models/qwen_image/config.h"
#include "models/qwen_image/prompts.h"
#include "models/qwen_image/transformer.h"

namespace hearth::models::qwen_image {

class QwenImage final : public diffusion::LatentModel {
 public:
  explicit QwenImage(const Checkpoint& checkpoint);

  void check_guidance(const sampling::Guidance& guidance) const override;
  std::unique_ptr<diffusion::ReadPrompts> read_prompts(const ImageTask& task, bool use_negative, Backend& host,
                                                       ResolvedImage& resolved) const override;
  Tensor denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const override;
  std::shared_ptr<const diffusion::ControlModel> control_for(GivenComponent& given,
                                                             const std::shared_ptr<TensorSource>& denoiser) const override;

 private:
  QwenImageConfig config_;
  Encoders encoders_;
  diffusion::Slot<Transformer> transformer_;
};

// For ImageFamily::check and ImageFamily::prompt_readers.
std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant);
std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint);

}  // namespace hearth::models::qwen_image
