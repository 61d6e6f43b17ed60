// From a request's prompts to the transformer's conditionings.
#pragma once

#include "models/image_family.h"
#include "models/sana/config.h"

namespace hearth::models::sana {

inline constexpr std::string_view text_states = "text";  // the conditioning tensor: [1, L, C], and how many rows are the text's
inline constexpr std::string_view limited_mark =
    "limited";                                  // a conditioning tensor [1]: present if the self-attention's results are clamped
inline constexpr int64_t default_length = 300;  // max_sequence_length

// The reference's complex human instruction, which precedes the prompt.
extern const std::string_view instruction;

// The tokens of a text, of whose states the transformer receives the first and those from `rest` on.
struct Row {
  std::vector<int32_t> ids;
  int64_t rest = 1;     // the number of ids at most
  std::string warning;  // what was cut off, in one line; empty if nothing
};

// As the reference's pipeline: the instruction, and the text in lower case without white space around it; at most `length` − 2 tokens more
// than the instruction has; of the states the first and the last `length` − 1 places, padding included.
Row row_of(const text::Tokenizer& tokenizer, std::string_view text, text::PromptRole role, std::string_view instruction, int64_t length);

// The prompt and, if it is evaluated, the negative prompt, which has no instruction.
class Prompts final : public diffusion::ReadPrompts {
 public:
  // `resolved` receives warnings and max_sequence_length. UnsupportedError for what language_encoder::text_in() refuses, and embeddings.
  Prompts(const SanaConfig& config, diffusion::Slot<parts::DecoderTextEncoder> encoder, const ImageTask& task, bool use_negative,
          ResolvedImage& resolved);

  bool has_negative() const override { return rows_.size() > 1; }
  std::vector<diffusion::EncodedPrompt> encode(const diffusion::Loaded& networks, Backend& host) const override;

 private:
  diffusion::Slot<parts::DecoderTextEncoder> encoder_;
  std::vector<Row> rows_;  // of the prompt, and the negative prompt
  bool limited_ = false;
};

// For `hearth tokenize`: the prompt behind the instruction.
class SanaPromptReader final : public PromptReader {
 public:
  explicit SanaPromptReader(text::Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}

  Tokens tokenize(std::string_view text, bool special_tokens) const override;
  std::string detokenize(const std::vector<int32_t>& ids) const override;
  ReadPrompt read(std::string_view prompt, text::PromptSyntax syntax, text::Emphasis emphasis, const PromptReading& reading,
                  Backend& device) const override;

 private:
  text::Tokenizer tokenizer_;
};

}  // namespace hearth::models::sana
