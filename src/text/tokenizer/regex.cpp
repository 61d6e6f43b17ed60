#include "text/tokenizer/regex.h"

#include <oniguruma.h>

#include "core/error.h"
#include "core/text/utf8.h"

namespace hearth::text::pipeline {
namespace {

const UChar* bytes_of(std::string_view text) { return reinterpret_cast<const UChar*>(text.data()); }

std::string message_of(int code, OnigErrorInfo* info = nullptr) {
  UChar text[ONIG_MAX_ERROR_MESSAGE_LEN];
  const int length = info ? onig_error_code_to_str(text, code, info) : onig_error_code_to_str(text, code);
  return {reinterpret_cast<const char*>(text), size_t(length)};
}

void initialize() {
  static const int status = [] {
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    return onig_initialize(encodings, 1);
  }();
  if (status != ONIG_NORMAL) fail<UnsupportedError>("tokenizer: Oniguruma cannot be initialized: {}", message_of(status));
}

struct Region {
  OnigRegion* region = onig_region_new();
  Region() = default;
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region() { onig_region_free(region, 1); }
};

struct MatchLimits {
  OnigMatchParam* param = onig_new_match_param();
  explicit MatchLimits(size_t text_size) {
    onig_initialize_match_param(param);
    onig_set_match_stack_limit_size_of_match_param(param, unsigned(std::min<size_t>((1u << 20) + 8 * text_size, 1u << 31)));
  }
  MatchLimits(const MatchLimits&) = delete;
  MatchLimits& operator=(const MatchLimits&) = delete;
  ~MatchLimits() { onig_free_match_param(param); }

  void set(unsigned long retries) const {
    onig_set_retry_limit_in_match_of_match_param(param, retries);
    onig_set_retry_limit_in_search_of_match_param(param, retries);
  }
};

bool too_many_retries(int code) { return code == ONIGERR_RETRY_LIMIT_IN_MATCH_OVER || code == ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER; }

}  // namespace

struct Regex::Compiled {
  regex_t* regex = nullptr;
  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    if (regex) onig_free(regex);
  }
};

Regex::Regex(const std::string& pattern) : pattern_(pattern) {
  initialize();
  const auto compiled = std::make_shared<Compiled>();
  OnigErrorInfo info{};
  const UChar* begin = bytes_of(pattern_);
  const int code =
      onig_new(&compiled->regex, begin, begin + pattern_.size(), ONIG_OPTION_NONE, ONIG_ENCODING_UTF8, ONIG_SYNTAX_DEFAULT, &info);
  if (code != ONIG_NORMAL) fail<WeightError>("tokenizer: '{}' is not a valid regular expression: {}", pattern_, message_of(code, &info));
  compiled_ = compiled;
}

std::vector<Span> Regex::find_all(std::string_view text) const {
  // Oniguruma limits the steps of one search. Each search starts with a small limit; if it exceeds the limit, it is repeated with eight
  // times as many steps, which are charged to the budget of the whole text.
  constexpr unsigned long small = 256;
  size_t budget = 10'000'000 + 200 * text.size();
  const Region found;
  const MatchLimits limits(text.size());
  limits.set(small);
  const UChar* const begin = bytes_of(text);
  const UChar* const end = begin + text.size();

  std::vector<Span> matches;
  for (size_t at = 0; at <= text.size();) {
    int code = 0;
    for (unsigned long allowance = small;; allowance *= 8) {
      code = onig_search_with_param(compiled_->regex, begin, end, begin + at, end, found.region, ONIG_OPTION_NONE, limits.param);
      if (!too_many_retries(code)) {
        if (allowance != small) limits.set(small);
        break;
      }
      if (budget < allowance * 8)
        fail<UnsupportedError>("tokenizer: the pattern '{}' needs too many steps on a text of {} bytes", pattern_, text.size());
      budget -= allowance * 8;
      limits.set(allowance * 8);
    }
    if (code == ONIG_MISMATCH) break;
    if (code < 0) fail<UnsupportedError>("tokenizer: the pattern '{}' on a text of {} bytes: {}", pattern_, text.size(), message_of(code));
    const auto match_begin = size_t(found.region->beg[0]), match_end = size_t(found.region->end[0]);
    if (match_begin == match_end && !matches.empty() && matches.back().end == match_end) {
      if (at >= text.size()) break;
      at += sequence_length(text[at]);
      continue;
    }
    matches.push_back({match_begin, match_end});
    at = match_end;
  }
  return matches;
}

std::vector<Span> find_literal(std::string_view text, std::string_view literal) {
  std::vector<Span> found;
  for (size_t at = text.find(literal); at != text.npos; at = text.find(literal, at + literal.size()))
    found.push_back({at, at + literal.size()});
  return found;
}

}  // namespace hearth::text::pipeline
