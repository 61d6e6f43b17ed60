// From a request's prompts and reference images to the conditionings of both networks.
#pragma once

#include "models/clip/towers.h"
#include "models/diffusion/latent_model.h"
#include "models/stable_cascade/config.h"
#include "parts/clip_vision/clip_vision.h"

namespace hearth::models::stable_cascade {

// Names of the conditioning's tensors, besides those of clip/prompt_states.h.
inline constexpr std::string_view image_vectors = "image";  // [n, images, C]: zeros without image prompts and under the negative prompt

class Prompts final : public diffusion::ReadPrompts {
 public:
  // Errors of clip::TowerPrompts; UsageError for an image that is too small for the decoder.
  Prompts(const CascadeConfig& config, diffusion::Slot<parts::ClipTextModel> encoder, const ImageTask& task, bool use_negative,
          Backend& host, ResolvedImage& resolved);

  bool has_negative() const override { return texts_.has_negative(); }
  std::vector<std::string> unused() const override;
  std::vector<diffusion::EncodedPrompt> encode(const diffusion::Loaded& networks, Backend& host) const override;

 private:
  const CascadeConfig& config_;
  clip::TowerPrompts texts_;
  int64_t images_;  // reference images
};

// The prompt with the vectors of the task's reference images.
diffusion::EncodedPrompt with_images(const parts::ClipVisionModel& tower, const image_prompt::ImageProcessor& processor,
                                     const ImageTask& task, diffusion::EncodedPrompt prompt, Backend& host);

}  // namespace hearth::models::stable_cascade
