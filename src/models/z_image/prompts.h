// From a request's prompts to the transformer's conditionings.
#pragma once

#include "models/z_image/config.h"

namespace hearth::models::z_image {

inline constexpr std::string_view text_states = "text";  // the conditioning tensor: [1, L, C] without padding

// The prompt and, if it is evaluated, the negative prompt, as tokens of the text encoder.
class Prompts final : public diffusion::ReadPrompts {
 public:
  // `resolved` receives warnings and max_sequence_length. UnsupportedError for what text_in() refuses, and embeddings; UsageError for a
  // prompt that is too long for the transformer.
  Prompts(const ZImageConfig& config, diffusion::Slot<parts::DecoderTextEncoder> encoder, const ImageTask& task, bool use_negative,
          ResolvedImage& resolved);

  bool has_negative() const override { return texts_.size() > 1; }
  std::vector<diffusion::EncodedPrompt> encode(const diffusion::Loaded& networks, Backend& host) const override;

 private:
  diffusion::Slot<parts::DecoderTextEncoder> encoder_;
  std::vector<parts::PaddedText> texts_;  // of the prompt, and the negative prompt
};

}  // namespace hearth::models::z_image
