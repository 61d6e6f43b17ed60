// What families require of the configurations of a checkpoint.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/compat/scheduler_config.h"
#include "weights/checkpoint.h"

namespace hearth::models::diffusion {

// Components by their names in model_index.json.
struct KnownComponents {
  std::span<const std::string_view> used;
  std::span<const std::string_view> ignored = {};
  bool takes_added = false;  // those that the user adds to a checkpoint (Checkpoint::is_added)
};
// A note for each component that is ignored. UnsupportedError names one that is not known.
std::vector<std::string> require_known(const Checkpoint& checkpoint, const KnownComponents& known);

// UnsupportedError unless the autoencoder's images have three channels. `where`: the checkpoint, for the message.
void require_rgb(int64_t in_channels, int64_t out_channels, const std::string& where);

// The scheduler of a family whose schedule goes in even steps from 1. UnsupportedError unless it is of flow models.
sampling::SchedulerConfig even_flow_scheduler(const Checkpoint& checkpoint);

}  // namespace hearth::models::diffusion
