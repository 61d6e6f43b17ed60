// From a request's prompts to what the UNet is asked under.
#pragma once

#include <vector>

#include "models/diffusion/latent_model.h"
#include "models/stable_diffusion/config.h"
#include "parts/clip/clip_text.h"
#include "weights/textual_inversion.h"

namespace hearth::models::stable_diffusion {

// The prompts as each text encoder reads them: the same conditions with as many chunks; shorter texts are filled up with chunks of no text.
class TowerPrompts final : public diffusion::ReadPrompts {
 public:
  // `ask_negative`: whether guidance asks under the negative prompt; a composed prompt does in any case. `resolved` has size and guidance,
  // and gets clip skip, chunks, embeddings and warnings. Errors of text::read_prompt and read_embeddings; UsageError for a clip skip that
  // an encoder has no layer for.
  TowerPrompts(const StableDiffusionConfig& config, std::vector<diffusion::Slot<parts::ClipTextModel>> slots, const ImageTask& task,
               bool ask_negative, Backend& host, ResolvedImage& resolved);

  bool has_negative() const override { return towers_[0].prompts.size() > 1; }
  std::vector<diffusion::EncodedPrompt> encode(const diffusion::Loaded& networks, Backend& host) const override;

 private:
  struct Tower {
    std::vector<text::Prompt> prompts;  // the prompt, and the negative one where it is asked under
    text::Chunk empty_chunk;
    std::vector<TextualInversion> vectors;          // of the embeddings
    int64_t clip_skip = 1, clip_skip_negative = 1;  // as clip::PromptEncoding has it
  };
  Tower read(size_t tower, const ImageTask& task, bool ask_negative, Backend& host, std::vector<text::EmbeddingName>& names,
             ResolvedImage& resolved) const;
  void even_out();

  const StableDiffusionConfig& config_;
  std::vector<diffusion::Slot<parts::ClipTextModel>> slots_;
  std::vector<Tower> towers_;
  bool zero_negative_ = false;  // the negative prompt is all zeros
  text::PromptSyntax syntax_;
  text::Emphasis emphasis_;
  std::vector<std::vector<float>>
      sizes_;        // what the UNet is told under the prompt, and under the negative one; empty where it is told none
  double guidance_;  // that a UNet is told which is not asked twice
};

}  // namespace hearth::models::stable_diffusion
