// How a CLIP text encoder tokenizes text and prompts; its weights are not needed.
#pragma once

#include "models/image_family.h"
#include "text/clip/clip_tokenizer.h"

namespace hearth::models::clip {

class ClipPromptReader final : public PromptReader {
 public:
  // `encoder`: its name in model_index.json, empty if there is only a tokenizer; `embedding`: the name of its vectors in a
  // textual-inversion file ("clip_l"), and their width.
  ClipPromptReader(text::ClipTokenizer tokenizer, std::string encoder = {}, std::string embedding = {}, int64_t width = 0);

  Tokens tokenize(std::string_view text, bool special_tokens) const override;
  std::string detokenize(const std::vector<int32_t>& ids) const override;
  ReadPrompt read(std::string_view prompt, text::PromptSyntax syntax, text::Emphasis emphasis, const PromptReading& reading,
                  Backend& device) const override;

 private:
  text::ClipTokenizer tokenizer_;
  std::string encoder_, embedding_;
  int64_t width_;
};

}  // namespace hearth::models::clip
