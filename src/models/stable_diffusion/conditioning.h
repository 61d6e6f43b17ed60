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
  std::vector<TextualInversion> vectors;          // of the embeddings
  int64_t clip_skip = 1, clip_skip_negative = 1;  // as PromptEncoding has it
};

// For each tower the same conditions with as many chunks; shorter texts are filled up with chunks of no text.
struct Prompts {
  std::vector<TowerPrompts> towers;
  bool zero_negative = false;  // the negative prompt is all zeros
};

// `ask_negative`: whether guidance asks under the negative prompt; a composed prompt does in any case. Fills in clip skip, chunks,
// embeddings and warnings of `told`. Errors of text::read_prompt and read_embeddings; UsageError for a clip skip that an encoder has no
// layer for, and for a second prompt, a second clip skip or sizes that the family has no use for.
Prompts read_prompts(const StableDiffusionConfig& config, const ImageRequest& request, bool ask_negative, Backend& device,
                     ResolvedImage& told);

// The same prompts, encoded: first the prompt, then the negative one where there is one. `models`: one for each tower; `size`: the
// picture's.
std::vector<EncodedPrompt> encode_prompts(const StableDiffusionConfig& config, const ImageRequest& request, const Prompts& prompts,
                                          const ResolvedImage& size, std::span<const parts::ClipTextModel> models, Backend& device);

}  // namespace hearth::models::stable_diffusion
