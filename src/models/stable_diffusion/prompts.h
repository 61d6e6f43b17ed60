// From a request's prompts to the UNet's conditionings.
#pragma once

#include <vector>

#include "models/diffusion/latent_model.h"
#include "models/stable_diffusion/config.h"
#include "parts/clip/clip_text.h"
#include "weights/textual_inversion.h"

namespace hearth::models::stable_diffusion {

// The prompts parsed for each text encoder: the same conditions with equally many chunks; shorter texts are padded with empty chunks.
class TowerPrompts final : public diffusion::ReadPrompts {
 public:
  // `use_negative`: whether guidance evaluates the negative prompt; a composed prompt always does. `resolved` has size and guidance,
  // and receives clip skip, chunks, embeddings and warnings. Errors of text::read_prompt and read_embeddings; UsageError for a clip skip
  // beyond an encoder's layers.
  TowerPrompts(const StableDiffusionConfig& config, std::vector<diffusion::Slot<parts::ClipTextModel>> slots, const ImageTask& task,
               bool use_negative, Backend& host, ResolvedImage& resolved);

  bool has_negative() const override { return towers_[0].prompts.size() > 1; }
  std::vector<diffusion::EncodedPrompt> encode(const diffusion::Loaded& networks, Backend& host) const override;

 private:
  struct Tower {
    std::vector<text::Prompt> prompts;  // the prompt, and the negative prompt if it is evaluated
    text::Chunk empty_chunk;
    std::vector<TextualInversion> vectors;          // of the embeddings
    int64_t clip_skip = 1, clip_skip_negative = 1;  // as in clip::PromptEncoding
  };
  Tower read(size_t tower, const ImageTask& task, bool use_negative, Backend& host, std::vector<text::EmbeddingName>& names,
             ResolvedImage& resolved) const;
  void equalize();

  const StableDiffusionConfig& config_;
  std::vector<diffusion::Slot<parts::ClipTextModel>> slots_;
  std::vector<Tower> towers_;
  bool zero_negative_ = false;  // the negative prompt is all zeros
  text::PromptSyntax syntax_;
  text::Emphasis emphasis_;
  std::vector<std::vector<float>> sizes_;  // the UNet's size conditioning under the prompt and the negative prompt; empty if it has none
  double guidance_;                        // for a UNet that receives the guidance scale
};

}  // namespace hearth::models::stable_diffusion
