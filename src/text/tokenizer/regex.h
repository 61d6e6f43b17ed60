// The regular expressions of tokenizer files: Oniguruma's syntax over UTF-8.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::text::pipeline {

// A range of a text, in bytes.
struct Span {
  size_t begin = 0, end = 0;
};

// Immutable and thread-safe after construction.
class Regex {
 public:
  // WeightError for an invalid pattern.
  explicit Regex(const std::string& pattern);

  // All non-overlapping matches, from left to right. An empty match never directly follows another match. UnsupportedError if the search
  // takes more steps than a multiple of the text's length, because the pattern backtracks excessively.
  std::vector<Span> find_all(std::string_view text) const;
  const std::string& pattern() const { return pattern_; }

 private:
  struct Compiled;
  std::string pattern_;
  std::shared_ptr<const Compiled> compiled_;
};

// All occurrences of a non-empty literal.
std::vector<Span> find_literal(std::string_view text, std::string_view literal);

}  // namespace hearth::text::pipeline
