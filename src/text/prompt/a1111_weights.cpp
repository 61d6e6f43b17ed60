#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text/utf8.h"
#include "text/prompt/weighted_text.h"
#include "text/prompt/words.h"
#include "text/unicode.h"

namespace hearth::text {
namespace {

constexpr double more = 1.1, less = 1 / 1.1;

struct Stretch {
  std::u32string text;
  double weight = 1;
  bool chunk_break = false;
};

class Reader {
 public:
  explicit Reader(std::u32string_view text) : text_(text) {}

  std::vector<Stretch> read() {
    while (at_ < text_.size()) next();
    for (const size_t begin : round_) multiply(begin, more);
    for (const size_t begin : square_) multiply(begin, less);
    return std::move(out_);
  }

 private:
  void next() {
    const char32_t c = text_[at_];
    if (c == '\\') return add_escape();
    if (c == '(' || c == '[') {
      (c == '(' ? round_ : square_).push_back(out_.size());
      ++at_;
      return;
    }
    if (c == ':' && !round_.empty() && close_with_number()) return;
    if (c == ')' && !round_.empty()) return close(round_, more, at_ + 1);
    if (c == ']' && !square_.empty()) return close(square_, less, at_ + 1);
    add_text();
  }

  void add_escape() {
    ++at_;
    const bool escapes = at_ < text_.size() && std::u32string_view(U"()[]\\").find(text_[at_]) != std::u32string_view::npos;
    out_.push_back({escapes ? std::u32string(1, text_[at_++]) : std::u32string()});
  }

  void close(std::vector<size_t>& open, double factor, size_t end) {
    multiply(open.back(), factor);
    open.pop_back();
    at_ = end;
  }

  void multiply(size_t begin, double factor) {
    for (size_t i = begin; i < out_.size(); ++i) out_[i].weight *= factor;
  }

  // Matches ":1.3)" from here on, with white space around the number: the number and its end; 0 if there is no match.
  size_t numbered_end(std::u32string_view& number) const {
    size_t i = at_ + 1;
    while (i < text_.size() && is_python_space(text_[i])) ++i;
    const size_t begin = i;
    if (i < text_.size() && (text_[i] == '+' || text_[i] == '-')) ++i;
    const size_t digits = i;
    while (i < text_.size() && (text_[i] == '.' || (text_[i] >= '0' && text_[i] <= '9'))) ++i;
    if (i == digits) return 0;
    number = text_.substr(begin, i - begin);
    while (i < text_.size() && is_python_space(text_[i])) ++i;
    return i < text_.size() && text_[i] == ')' ? i + 1 : 0;
  }

  bool close_with_number() {
    std::u32string_view number;
    const size_t end = numbered_end(number);
    if (end == 0) return false;
    const std::optional<double> factor = python_float(number);
    if (!factor) fail<UsageError>("prompt: the weight '{}' is not a number", encode_utf8(number));
    close(round_, *factor, end);
    return true;
  }

  // A literal bracket or colon, or a span without any.
  void add_text() {
    const std::u32string_view special = U"\\()[]:";
    std::u32string_view number;
    const size_t begin = at_, numbered = text_[at_] == ':' ? numbered_end(number) : 0;
    if (numbered > 0) at_ = numbered;
    else if (special.find(text_[begin]) != special.npos) ++at_;
    else at_ = std::min(text_.find_first_of(special, begin), text_.size());
    std::u32string_view rest = text_.substr(begin, at_ - begin);
    for (size_t found; (found = find_whole_word(rest, U"BREAK")) != rest.npos;) {
      size_t end = found + 5;
      while (end < rest.size() && is_python_space(rest[end])) ++end;
      std::u32string_view before = rest.substr(0, found);
      while (!before.empty() && is_python_space(before.back())) before.remove_suffix(1);
      out_.push_back({std::u32string(before)});
      out_.push_back({U"BREAK", -1, true});
      rest.remove_prefix(end);
    }
    out_.push_back({std::u32string(rest)});
  }

  std::u32string_view text_;
  size_t at_ = 0;
  std::vector<Stretch> out_;
  std::vector<size_t> round_, square_;  // starts of the open brackets in out_
};

}  // namespace

std::vector<WeightedText> a1111_weights(std::string_view text) {
  const std::u32string characters = decode_utf8(text);
  std::vector<Stretch> stretches = Reader(characters).read(), merged;
  for (Stretch& s : stretches) {
    if (!std::isfinite(float(s.weight))) fail<UsageError>("prompt: the weight {} is too large", s.weight);
    if (!merged.empty() && merged.back().weight == s.weight) merged.back().text += s.text;
    else merged.push_back(std::move(s));
  }
  if (merged.empty()) merged.push_back({});
  std::vector<WeightedText> out;
  for (const Stretch& s : merged) {
    const bool chunk_break = s.text == U"BREAK" && s.weight == -1;
    out.push_back({chunk_break ? "" : encode_utf8(s.text), chunk_break ? 1.0 : s.weight, chunk_break});
  }
  return out;
}

}  // namespace hearth::text
