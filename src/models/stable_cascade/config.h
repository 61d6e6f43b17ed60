// The configurations of a Stable Cascade checkpoint, checked against each other.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/clip/towers.h"
#include "models/image_prompt/image_processor.h"
#include "models/stable_cascade/stage_a.h"
#include "models/stable_cascade/unet_config.h"
#include "parts/clip_vision/config.h"
#include "sampling/compat/scheduler_config.h"

namespace hearth::models::stable_cascade {

inline constexpr std::string_view family_name = "stable_cascade";

// Components by their names: a folder of the decoder, to which the user adds the prior, or one of both, where the prior's begin with
// "prior_" (StableCascadeCombinedPipeline). A name is empty if the
// checkpoint lacks that component.
struct Names {
  std::string_view text_encoder, tokenizer, prior, prior_scheduler, image_encoder, feature_extractor;
};
// UsageError if there is no prior.
Names names_of(const Checkpoint& checkpoint);

// Of image prompts.
struct ImageTower {
  parts::ClipVisionConfig config;
  image_prompt::ImageProcessor processor;
};

struct CascadeConfig {
  Names names;
  std::vector<clip::Tower> towers;  // one
  UnetConfig prior, decoder;        // stages C and B
  StageAConfig vqgan;
  std::optional<ImageTower> image;
  sampling::SchedulerConfig prior_scheduler, scheduler;
  std::vector<std::string> notes;  // ignored parts of the checkpoint, one line each

  // Reads and checks model_index.json, the tokenizer and every config. UnsupportedError names a class, component or key that is not
  // supported; WeightError names what does not match: widths of texts and images, channels of latents, networks of other stages.
  static CascadeConfig from(const Checkpoint& checkpoint);
};

// Readers of single components.
clip::TowerNames tower_names(const Names& names);
UnetConfig unet_config(const Checkpoint& checkpoint, std::string_view component);
StageAConfig vqgan_config(const Checkpoint& checkpoint);
ImageTower image_tower(const Checkpoint& checkpoint, const Names& names);
// The decoder's. UnsupportedError unless it is a DDPMWuerstchenScheduler. For ImageFamily::scheduler.
sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint);
sampling::SchedulerConfig prior_scheduler_of(const Checkpoint& checkpoint, const Names& names);

}  // namespace hearth::models::stable_cascade
