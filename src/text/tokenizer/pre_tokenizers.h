// The pre-tokenizers of a tokenizer.json, which split text into the pieces that the model receives one by one.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "text/tokenizer/normalizers.h"
#include "text/tokenizer/regex.h"

namespace hearth::text::pipeline {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Replaces each piece by its parts, without empty ones.
  virtual void split(std::vector<Text>& pieces) const = 0;
};

// BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, FixedLength, Metaspace, Punctuation, Sequence, Split, UnicodeScripts,
// Whitespace, WhitespaceSplit. nullptr for null. UnsupportedError names any other type, WeightError a missing or invalid member.
std::unique_ptr<PreTokenizer> make_pre_tokenizer(const nlohmann::json& stage);

// What to do with the matches of a pattern when a text is split at them.
enum class Behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };
// The parts of a text of `size` bytes. `invert`: the text between the matches counts as the matches.
std::vector<Span> split_at(const std::vector<Span>& matches, size_t size, Behavior behavior, bool invert = false);

// The pattern of GPT-2, which is built into ByteLevel.
extern const char* const gpt2_pattern;

}  // namespace hearth::text::pipeline
