// Latent diffusion (Rombach et al. 2022, arXiv 2112.10752) after diffusers' StableDiffusionPipeline and its kin, 0.39.0: what the
// families sd1, sd2 … share. A family is what its entry.cpp says of itself (Family, config.h).
//
//   prompts → chunks of 77 ids → states [1, n·77, C] each → per step: UNet on both halves, guidance, sampler → latents [B, h, w, 4] →
//   pictures
#pragma once

#include "models/stable_diffusion/networks.h"
#include "models/stable_diffusion/resolve.h"

namespace hearth::models::stable_diffusion {

class StableDiffusion final : public TextToImage {
 public:
  StableDiffusion(const Checkpoint& checkpoint, Backend& device, const Family& family, const LoadRequest& request);

  std::string family() const override { return std::string(config_.family->name); }
  std::vector<ComponentReport> components() const override { return networks_.reports(); }
  int64_t factor() const override { return config_.vae.factor(); }
  std::vector<std::string> notes() const override { return config_.notes; }
  std::string scheduler() const override { return std::string(name_of(config_.scheduler.scheduler)); }

  ResolvedImage resolve(const ImageRequest& request) const override;
  MemoryPlan plan(const ImageRequest& request) override;
  ImageResult draw(const ImageRequest& request, const MemoryPlan& plan, const OnProgress& progress) override;

  Tensor encode(const Tensor& pictures) override;
  Tensor decode(const Tensor& latents) override;

 private:
  Resolved resolved(const ImageRequest& request) const;
  void require_room() const;  // UsageError where the networks together need more memory than there is

  Backend& device_;
  int64_t memory_limit_;
  StableDiffusionConfig config_;
  Networks networks_;
  bool numbers_checked_ = false;
};

// The task in a family's entry. `pipelines`: classes in model_index.json; `claims`: as TextToImageFamily::claims.
template <const Family& family>
TextToImageFamily task_of(const ImageFiles& files, std::vector<std::string_view> pipelines, bool (*claims)(const Checkpoint&) = nullptr) {
  return {
      .pipelines = std::move(pipelines),
      .claims = claims,
      .files = &files,
      .open = [](const Checkpoint& checkpoint, Backend& device, const LoadRequest& request) -> std::unique_ptr<TextToImage> {
        return std::make_unique<StableDiffusion>(checkpoint, device, family, request);
      },
      .check = [](const Checkpoint& checkpoint, const std::string& variant) { return check(checkpoint, family, variant); },
      .prompt_encoders = [](const Checkpoint& checkpoint) { return prompt_encoders(checkpoint, family); },
      .scheduler = [](const Checkpoint& checkpoint) { return scheduler_of(checkpoint, family); },
  };
}

}  // namespace hearth::models::stable_diffusion
