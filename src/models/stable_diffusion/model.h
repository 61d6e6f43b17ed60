// Stable Diffusion: a UNet that attends to the states of CLIP text encoders (Rombach et al. 2022, arXiv 2112.10752; Podell et al. 2023,
// arXiv 2307.01952), after diffusers' StableDiffusionPipeline and related pipelines, 0.39.0. Each family is declared in its own
// folder (family.h).
//
//   prompts → chunks of 77 ids → states [1, n·77, C] each → per step: UNet on both halves, guidance, sampler → latents [B, h, w, 4] →
//   images
#pragma once

#include "models/image_family.h"
#include "models/stable_diffusion/config.h"
#include "models/stable_diffusion/control.h"
#include "models/stable_diffusion/image_prompt.h"
#include "parts/clip/clip_text.h"
#include "parts/unet/unet.h"

namespace hearth::models::stable_diffusion {

class StableDiffusion final : public diffusion::LatentModel {
 public:
  StableDiffusion(const Checkpoint& checkpoint, const Family& family);

  void check_guidance(const sampling::Guidance& guidance) const override;
  std::unique_ptr<diffusion::ReadPrompts> read_prompts(const ImageTask& task, bool use_negative, Backend& host,
                                                       ResolvedImage& resolved) const override;
  Tensor denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const override;
  std::shared_ptr<const diffusion::ControlModel> control_for(GivenComponent& given,
                                                             const std::shared_ptr<TensorSource>& denoiser) const override;
  std::shared_ptr<const diffusion::ImagePromptModel> image_prompt_for(const GivenComponent& given,
                                                                      const std::shared_ptr<TensorSource>& denoiser) const override;
  void require_refiner(const diffusion::LatentModel& refiner, const std::string& where) const override;
  const diffusion::AutoencoderConfig* autoencoder() const override { return &config_.vae; }

 private:
  StableDiffusionConfig config_;
  std::vector<diffusion::Slot<parts::ClipTextModel>> text_encoders_;
  std::optional<PromptImageEncoder> image_encoder_;
  diffusion::Slot<parts::Unet> unet_;
};

// For ImageFamily::check.
std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const Family& family, const std::string& variant);
// For ImageFamily::prompt_readers.
std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint, const Family& family);

// The task in a family's entry. `pipelines`: classes in model_index.json; `claims`: as ImageFamily::claims.
template <const Family& family>
ImageFamily task_of(const ImageFiles& files, std::vector<std::string_view> pipelines, bool (*claims)(const Checkpoint&) = nullptr) {
  return {
      .pipelines = std::move(pipelines),
      .claims = claims,
      .files = &files,
      .controls = control_places(),
      .options = family.options,
      .benchmarks = family.benchmarks,
      .describe = [](const Checkpoint& checkpoint) -> std::unique_ptr<diffusion::LatentModel> {
        return std::make_unique<StableDiffusion>(checkpoint, family);
      },
      .check = [](const Checkpoint& checkpoint, const std::string& variant) { return check(checkpoint, family, variant); },
      .prompt_readers = [](const Checkpoint& checkpoint) { return prompt_readers(checkpoint, family); },
      .scheduler = [](const Checkpoint& checkpoint) { return scheduler_of(checkpoint, family); },
  };
}

}  // namespace hearth::models::stable_diffusion
