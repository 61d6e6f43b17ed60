// The declaration of a family with UNet and CLIP: one constant in its folder.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/files/config.h"
#include "models/clip/towers.h"
#include "models/image_family.h"
#include "text/prompt/prompt.h"

namespace hearth::models::stable_diffusion {

using clip::TowerNames;

struct StableDiffusionConfig;

// What the run starts from: the default sizes of a negative prompt depend on it.
enum class StartsFrom { noise, image };

// Everything that the shared code needs to know of a family.
struct Family {
  std::string_view name;
  std::vector<TowerNames> towers;          // their states are concatenated in this order for the UNet's cross-attention
  std::vector<Option> options;             // the family's own
  std::vector<Benchmark> benchmarks = {};  // ImageFamily::benchmarks
  // Components that are ignored, with a note.
  std::vector<std::string_view> ignored_components = {"safety_checker", "feature_extractor", "image_encoder", "depth_estimator"};

  int64_t clip_skip = 1;       // default layer whose states are used: 1 is the last, 2 the next-to-last
  bool final_norm = true;      // the text encoder's final norm is applied to the states
  bool edits_configs = false;  // the reference's pipeline changes old configs on loading (README.md)
  // Numbers that the UNet receives besides the pooled text, for the prompt or the negative prompt; absent: it takes neither.
  std::vector<float> (*sizes)(const OptionValues& asked, int64_t width, int64_t height, text::PromptRole role,
                              StartsFrom starts_from) = nullptr;
  bool latent_statistics = false;  // the reference's pipelines apply the autoencoder's latents_mean and latents_std
  diffusion::Strengths strengths = {}, reference_strengths = {};  // diffusion::Facts
  std::span<const std::pair<std::string_view, std::string_view>> step_tables = {};
  bool can_be_refined = false;  // a second checkpoint with the same latents may execute the last steps
  // Keys of model_index.json that only this family has; absent: none.
  void (*read_index)(const Config& index, StableDiffusionConfig& config) = nullptr;
};

}  // namespace hearth::models::stable_diffusion
