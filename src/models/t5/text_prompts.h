// The prompts of a family whose text encoders read rows of tokens (prompt_rows.h), without a CLIP text encoder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/diffusion/latent_model.h"
#include "models/t5/prompt_rows.h"

namespace hearth::models::t5 {

// Names of the conditioning: states [n, T, C] f32, and how many rows of each text are not padding, if the family masks them.
inline constexpr std::string_view text_states = "text";

// How a family reads a text.
struct TextRules {
  int64_t rows = 256;                 // ids of a row, in the syntaxes plain and a1111
  int64_t least_rows_in_comfyui = 1;  // in the syntax comfyui
  bool lower = false;                 // RowReading::lower
};

// One of the prompts that are combined by AND, as rows of one encoder.
struct RowCondition {
  struct Entry {
    int64_t end = 0;  // as text::ScheduledText::end
    Row row;
  };
  double weight = 1;
  std::vector<Entry> entries;
};
using RowPrompt = std::vector<RowCondition>;

// A prompt's rows; `resolved` receives warnings. Errors of text::read_texts and read_row.
RowPrompt read_prompt(std::string_view prompt, text::PromptRole role, const ImageTask& task, const RowReading& reading,
                      const text::Tokenizer& tokenizer, ResolvedImage& resolved);
// How a request's texts are read: its syntax, and max_sequence_length or the family's number of ids, which `resolved` receives.
RowReading row_reading(const Request& request, const TextRules& rules, ResolvedImage& resolved);

class TextPrompts final : public diffusion::ReadPrompts {
 public:
  // `component`: the encoder's name in model_index.json. The negative prompt is read if guidance uses it, or the prompt is composed.
  // UnsupportedError for embeddings (textual inversion); errors of read_prompt.
  TextPrompts(std::string_view component, diffusion::Slot<parts::T5EncoderModel> encoder, const text::Tokenizer& tokenizer,
              const TextRules& rules, const Padding& padding, const ImageTask& task, bool use_negative, ResolvedImage& resolved);

  bool has_negative() const override { return prompts_.size() > 1; }
  std::vector<diffusion::EncodedPrompt> encode(const diffusion::Loaded& networks, Backend& host) const override;

 private:
  std::string component_;
  diffusion::Slot<parts::T5EncoderModel> encoder_;
  const text::Tokenizer& tokenizer_;
  Padding padding_;
  std::vector<RowPrompt> prompts_;  // the prompt, and the negative prompt if it is evaluated
};

}  // namespace hearth::models::t5
