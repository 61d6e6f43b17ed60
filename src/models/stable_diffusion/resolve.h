// A request with every default of the checkpoint filled in, its schedule made and its prompts read: all that can be known before
// anything is computed.
#pragma once

#include "models/stable_diffusion/conditioning.h"
#include "models/stable_diffusion/editing.h"
#include "sampling/samplers.h"

namespace hearth::models::stable_diffusion {

struct Resolved : ResolvedImage {
  const sampling::Sampler* sampling = nullptr;
  sampling::Schedule steps_to_take;
  EditPlan edit;
  std::vector<TowerPrompts> prompts;

  sampling::Unconditional unconditional() const {
    return sampling->needs_unconditional ? sampling::Unconditional::needed : sampling::Unconditional::unused;
  }
};

// UsageError, UnsupportedError: as TextToImage::resolve.
Resolved resolve(const StableDiffusionConfig& config, const ImageRequest& request, Backend& device);

sampling::NoiseRequest noise_request(const ImageRequest& request);
parts::UnetConfig::Blocks perturbed_blocks(const sampling::Guidance& guidance);  // mid, down, up: that perturbed attention disturbs

}  // namespace hearth::models::stable_diffusion
