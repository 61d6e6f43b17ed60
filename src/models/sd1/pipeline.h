// Stable Diffusion 1.x (Rombach et al. 2022, arXiv 2112.10752) after diffusers' StableDiffusionPipeline, 0.39.0:
//
//   prompts → chunks of 77 ids → text states [1, n·77, C] each → per step: UNet on both halves, guidance, sampler → latents [B, h, w, 4] →
//   pictures
#pragma once

#include "models/sd1/networks.h"

namespace hearth::models::sd1 {

class StableDiffusion final : public TextToImage {
 public:
  StableDiffusion(const Checkpoint& checkpoint, Backend& device, const LoadRequest& request);

  std::string family() const override { return "sd1"; }
  std::vector<ComponentReport> components() const override { return networks_.reports(); }
  std::vector<std::string> notes() const override { return config_.notes; }
  std::string scheduler() const override { return std::string(name_of(config_.scheduler.scheduler)); }

  ResolvedImage resolve(const ImageRequest& request) const override;
  MemoryPlan plan(const ImageRequest& request) override;
  ImageResult draw(const ImageRequest& request, const MemoryPlan& plan, const OnProgress& progress) override;

  Tensor encode(const Tensor& pictures) override;
  Tensor decode(const Tensor& latents) override;

 private:
  void require_room() const;  // UsageError where the networks together need more memory than there is
  struct Plan;                // the request resolved, with its schedule
  Plan planned(const ImageRequest& request) const;
  void read_prompts(const ImageRequest& request, Plan& p) const;
  std::vector<MemoryPlan> modes(const ImageRequest& request, const Plan& p) const;   // that the request allows, in order of cost
  void measure(MemoryPlan& plan, const ImageRequest& request, const Plan& p) const;  // fills in the bytes, by a dry run
  ImageResult run(const ImageRequest& request, const Plan& p, const MemoryPlan& plan, Backend& device, Networks& networks,
                  const OnProgress& progress) const;

  Backend& device_;
  int64_t memory_limit_;
  Sd1Config config_;
  Networks networks_;
  bool numbers_checked_ = false;
};

}  // namespace hearth::models::sd1
