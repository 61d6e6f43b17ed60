// From a request's prompts and reference images to the transformer's conditionings.
#pragma once

#include "models/qwen_image/config.h"

namespace hearth::models::qwen_image {

inline constexpr std::string_view text_states = "text";  // the conditioning tensor: [1, L, C]

struct Encoders {
  diffusion::Slot<TextEncoder> text;
  std::optional<diffusion::Slot<parts::QwenVision>> vision = {};  // QwenImageConfig::added_vision
};

// The prompt and, if it is evaluated, the negative prompt, as tokens of the text encoder; the images of a prompt stand before its text.
class Prompts final : public diffusion::ReadPrompts {
 public:
  // `resolved` receives warnings and max_sequence_length. UnsupportedError for what text_in() refuses, embeddings, and max_sequence_length
  // of a model that edits, whose prompts have any length; UsageError unless such a model has as many images as it takes; WeightError for a
  // tokenizer that makes fewer tokens of the texts around a prompt than are dropped.
  Prompts(const QwenImageConfig& config, const Encoders& encoders, const ImageTask& task, bool use_negative, ResolvedImage& resolved);

  bool has_negative() const override { return texts_.size() > 1; }
  std::vector<diffusion::EncodedPrompt> encode(const diffusion::Loaded& networks, Backend& host) const override;

 private:
  void read_images(std::span<const Pixels> images);
  parts::PaddedText with_images(parts::PaddedText text) const;

  const QwenImageConfig& config_;
  Encoders encoders_;
  int64_t dropped_;                       // tokens at the start
  std::vector<Pixels> images_;            // as the vision tower sees them
  std::vector<parts::PaddedText> texts_;  // of the prompt, and the negative prompt; without the images' rows
};

}  // namespace hearth::models::qwen_image
