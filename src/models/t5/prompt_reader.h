// How a T5 text encoder, or another one that reads rows (prompt_rows.h), tokenizes text and prompts; its weights are not needed.
#pragma once

#include "models/image_family.h"
#include "models/t5/prompt_rows.h"
#include "text/tokenizer/tokenizer.h"

namespace hearth::models::t5 {

// Lengths of rows by syntax (prompt_rows.h).
struct RowLengths {
  int64_t plain = 256;   // max_sequence_length
  int64_t comfyui = 77;  // the shortest row
  bool lower = false;    // RowReading::lower
  Ends ends = {};        // RowReading::ends
};

class T5PromptReader final : public PromptReader {
 public:
  // `encoder`: its name in model_index.json. In A1111's syntax texts are read whole, because the length depends on the other encoders.
  T5PromptReader(text::Tokenizer tokenizer, std::string encoder, const RowLengths& lengths);

  Tokens tokenize(std::string_view text, bool special_tokens) const override;
  std::string detokenize(const std::vector<int32_t>& ids) const override;
  ReadPrompt read(std::string_view prompt, text::PromptSyntax syntax, text::Emphasis emphasis, const PromptReading& reading,
                  Backend& device) const override;

 private:
  text::Tokenizer tokenizer_;
  std::string encoder_;
  RowLengths lengths_;
};

}  // namespace hearth::models::t5
