#include "models/t5/prompt_reader.h"

#include <algorithm>
#include <optional>

#include "models/t5/prompt_rows.h"

namespace hearth::models::t5 {
namespace {

std::vector<PromptToken> tokens_of(const Row& row, const text::Tokenizer& tokenizer, const Ends& ends) {
  std::vector<PromptToken> tokens;
  for (size_t i = ends.start ? 1 : 0; i + 1 < size_t(row.length); ++i)
    tokens.push_back({.id = row.ids[i], .piece = tokenizer.piece(row.ids[i]).value_or(""), .weight = double(row.weights[i])});
  return tokens;
}

}  // namespace

T5PromptReader::T5PromptReader(text::Tokenizer tokenizer, std::string encoder, const RowLengths& lengths)
    : tokenizer_(std::move(tokenizer)), encoder_(std::move(encoder)), lengths_(lengths) {}

Tokens T5PromptReader::tokenize(std::string_view text, bool special_tokens) const {
  text::Tokenizer::Encoding all = tokenizer_.encode_with_pieces(text, {.add_special_tokens = special_tokens});
  return {.ids = std::move(all.ids), .pieces = std::move(all.pieces)};
}

std::string T5PromptReader::detokenize(const std::vector<int32_t>& ids) const { return tokenizer_.decode(ids); }

ReadPrompt T5PromptReader::read(std::string_view prompt, text::PromptSyntax syntax, text::Emphasis emphasis, const PromptReading& reading,
                                Backend&) const {
  const bool a1111 = syntax == text::PromptSyntax::a1111;
  const std::optional<int64_t> length = a1111                                 ? std::nullopt
                                        : syntax == text::PromptSyntax::plain ? std::optional(lengths_.plain)
                                                                              : lengths_.comfyui;
  ReadPrompt out{.encoder = encoder_};
  const auto text_until = [&](int64_t end, std::string text) {
    const Row row =
        read_row(text, text::PromptRole::positive,
                 {.syntax = syntax, .emphasis = emphasis, .length = length, .ends = lengths_.ends, .lower = lengths_.lower}, tokenizer_);
    if (!row.warning.empty() && std::ranges::find(out.warnings, row.warning) == out.warnings.end()) out.warnings.push_back(row.warning);
    return PromptText{.end = end, .text = std::move(text), .chunks = {tokens_of(row, tokenizer_, lengths_.ends)}};
  };
  const text::PromptTexts texts =
      text::read_texts(prompt, text::PromptRole::positive, {.syntax = syntax, .emphasis = emphasis, .steps = reading.steps});
  out.warnings = texts.warnings;
  for (const text::PromptTexts::Condition& part : texts.conditions) {
    PromptCondition& condition = out.conditions.emplace_back(PromptCondition{.weight = part.weight});
    for (const text::ScheduledText& entry : part.texts) condition.texts.push_back(text_until(entry.end, entry.text));
  }
  return out;
}

}  // namespace hearth::models::t5
