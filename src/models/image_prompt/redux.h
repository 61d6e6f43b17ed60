// Image prompts by Redux (Black Forest Labs 2024): the states of a SigLIP vision tower, as rows next to those of a text encoder. After
// diffusers' FluxPriorReduxPipeline 0.39.0.
#pragma once

#include <optional>

#include "models/diffusion/networks.h"
#include "models/image_prompt/image_processor.h"
#include "parts/siglip/siglip_vision.h"

namespace hearth::models::image_prompt {

struct Redux {
  // Adds the components "image_encoder" and "image_embedder" to `components` if the user added them to the checkpoint (slots.h); else
  // nullopt. UsageError if only one of them is there; WeightError if the embedder does not match the encoder, or `text_width`, the width of
  // the text encoder's states.
  static std::optional<Redux> add(const Checkpoint& checkpoint, diffusion::ComponentList& components, int64_t text_width);

  // An image of any size → rows [1, T, text_width], on the embedder's device.
  Tensor rows(const diffusion::Loaded& networks, const Pixels& image, Backend& host) const;

  ImageProcessor processor;
  diffusion::Slot<parts::SiglipVisionModel> encoder;
  diffusion::Slot<parts::ReduxImageEncoder> embedder;
};

}  // namespace hearth::models::image_prompt
