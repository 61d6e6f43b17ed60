// From a request's prompts to what the UNet is asked under.
#pragma once

#include <span>
#include <vector>

#include "models/clip_prompt.h"
#include "models/stable_diffusion/config.h"
#include "models/text_to_image.h"
#include "weights/textual_inversion.h"

namespace hearth::models::stable_diffusion {

// A request's prompts as one text encoder reads them.
struct TowerPrompts {
  std::vector<text::Prompt> prompts;  // the prompt, and the negative one where it is asked under
  text::Chunk empty_chunk;
  std::vector<TextualInversion> vectors;  // of the embeddings
};

// One for each tower; all of them have the same conditions with as many chunks. `ask_negative`: whether guidance asks under the negative
// prompt; a composed prompt does in any case. Fills in chunks, embeddings and warnings of `resolved`. Errors of text::read_prompt and
// read_embeddings; UsageError for a clip skip that the encoders do not have.
std::vector<TowerPrompts> read_prompts(const StableDiffusionConfig& config, const ImageRequest& request, bool ask_negative, Backend& device,
                                       ResolvedImage& resolved);

// The same prompts, encoded: first the prompt, then the negative one where there is one. `models`: one for each tower.
std::vector<EncodedPrompt> encode_prompts(const StableDiffusionConfig& config, const ImageRequest& request,
                                          std::span<const TowerPrompts> prompts, std::span<const parts::ClipTextModel> models,
                                          Backend& device);

}  // namespace hearth::models::stable_diffusion
