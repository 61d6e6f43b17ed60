// From a request's prompts to the transformer's conditionings.
#pragma once

#include "models/flux2/config.h"

namespace hearth::models::flux2 {

inline constexpr std::string_view text_states = "text";  // the conditioning tensor: [1, L, 3·C], padding included

// The prompt and, if it is evaluated, the negative prompt, as tokens of the text encoder.
class Prompts final : public diffusion::ReadPrompts {
 public:
  // `resolved` receives warnings and max_sequence_length. UnsupportedError for what text_in() refuses, and embeddings.
  Prompts(const Flux2Config& config, diffusion::Slot<parts::DecoderTextEncoder> encoder, const ImageTask& task, bool use_negative,
          ResolvedImage& resolved);

  bool has_negative() const override { return texts_.size() > 1; }
  std::vector<diffusion::EncodedPrompt> encode(const diffusion::Loaded& networks, Backend& host) const override;

 private:
  diffusion::Slot<parts::DecoderTextEncoder> encoder_;
  std::vector<parts::PaddedText> texts_;  // of the prompt, and the negative prompt
};

// The prompt without the marks of images, which dev's tokenizer would count.
std::string without_images(std::string_view prompt);

}  // namespace hearth::models::flux2
