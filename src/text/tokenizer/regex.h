// Regular expressions as tokenizer files write them: Oniguruma's syntax over UTF-8.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::text::pipeline {

// A stretch of a text, in bytes.
struct Span {
  size_t begin = 0, end = 0;
};

// Constant after construction: any number of threads may search with one.
class Regex {
 public:
  // WeightError for a pattern that is none.
  explicit Regex(const std::string& pattern);

  // All matches that do not overlap, from left to right. An empty one never touches the match before it.
  // UnsupportedError where the search takes more steps than a multiple of the text's length: a pattern that backtracks without end.
  std::vector<Span> find_all(std::string_view text) const;
  const std::string& pattern() const { return pattern_; }

 private:
  struct Compiled;
  std::string pattern_;
  std::shared_ptr<const Compiled> compiled_;
};

// All places of a text that is not empty.
std::vector<Span> find_literal(std::string_view text, std::string_view literal);

}  // namespace hearth::text::pipeline
