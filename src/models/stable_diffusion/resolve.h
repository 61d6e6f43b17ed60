// A request with every default of the checkpoint filled in, its schedule made and its prompts read: all that can be known before
// anything is computed.
#pragma once

#include <limits>
#include <optional>

#include "models/stable_diffusion/conditioning.h"
#include "models/stable_diffusion/editing.h"
#include "sampling/samplers.h"

namespace hearth::models::stable_diffusion {

// One checkpoint's part of a run: the steps from `begin` on and before `end` of its own schedule.
struct Stage {
  sampling::Schedule steps_to_take;
  Prompts prompts;
  double told_guidance = 1;  // of a UNet that is told its guidance scale instead of being asked twice
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();
};

struct Resolved : ResolvedImage {
  const sampling::Sampler* sampling = nullptr;
  EditPlan edit;
  Stage base;
  std::optional<Stage> refiner;

  sampling::Unconditional unconditional() const {
    return sampling->needs_unconditional ? sampling::Unconditional::needed : sampling::Unconditional::unused;
  }
};

// UsageError, UnsupportedError: as TextToImage::resolve.
Resolved resolve(const StableDiffusionConfig& config, const ImageRequest& request, Backend& device);

// The request as the refiner reads it: what is the base's alone is left out.
ImageRequest for_refiner(const ImageRequest& request);

sampling::NoiseRequest noise_request(const ImageRequest& request);
parts::UnetConfig::Blocks perturbed_blocks(const sampling::Guidance& guidance);  // mid, down, up: that perturbed attention disturbs

}  // namespace hearth::models::stable_diffusion
