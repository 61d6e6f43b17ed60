// From a request's prompts to the transformer's conditionings.
#pragma once

#include "models/diffusion/latent_model.h"
#include "models/flux1/config.h"
#include "models/t5/prompt_rows.h"
#include "parts/clip/clip_text.h"

namespace hearth::models::flux1 {

// Names of the conditioning tensors.
inline constexpr std::string_view text_states = "text";    // [1, L, C] of T5, padding included
inline constexpr std::string_view pooled_text = "pooled";  // [1, C] of CLIP

struct Encoders {
  diffusion::Slot<parts::ClipTextModel> clip;
  diffusion::Slot<parts::T5EncoderModel> t5;
};

enum class PromptKind {
  text,
  with_images  // of Redux: without a text its rows and the pooled text are zeros, with one T5 reads 512 tokens, whatever the model
};

// Tokens that T5 reads in the syntax of a prompt if the request does not say how many: a number of them, in ComfyUI at least as many.
int64_t default_length(const FluxConfig& config, const Request& request, PromptKind kind);

// The prompt and, if it is evaluated, the negative prompt, as tokens of both text encoders.
class Prompts final : public diffusion::ReadPrompts {
 public:
  // `resolved` receives warnings and max_sequence_length. UnsupportedError for prompt editing, composition and embeddings.
  Prompts(const FluxConfig& config, const Encoders& encoders, const ImageTask& task, PromptKind kind, bool use_negative,
          ResolvedImage& resolved);

  bool has_negative() const override { return rows_.size() > (zeros_ ? 0 : 1); }
  std::vector<std::string> unused() const override;
  std::vector<diffusion::EncodedPrompt> encode(const diffusion::Loaded& networks, Backend& host) const override;

 private:
  const FluxConfig& config_;
  Encoders encoders_;
  PromptKind kind_;
  bool zeros_;                                  // the prompt is
  int64_t length_ = 0;                          // max_sequence_length
  std::vector<std::vector<int32_t>> clip_ids_;  // of each prompt that is not zeros
  std::vector<t5::Row> rows_;                   // the same
};

}  // namespace hearth::models::flux1
