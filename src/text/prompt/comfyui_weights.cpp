#include <cmath>

#include "core/error.h"
#include "core/text/utf8.h"
#include "text/prompt/weighted_text.h"
#include "text/prompt/words.h"

namespace hearth::text {
namespace {

// Replace \) and \( while brackets are matched; no prompt contains these characters.
constexpr char32_t closing = 0x110001, opening = 0x110002;

std::u32string escape(std::u32string_view text) {
  std::u32string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char32_t next = i + 1 < text.size() ? text[i + 1] : 0;
    if (text[i] == '\\' && (next == '(' || next == ')')) out += text[++i] == '(' ? opening : closing;
    else out += text[i];
  }
  return out;
}

std::string unescape(std::u32string_view text) {
  std::u32string out(text);
  for (char32_t& c : out) c = c == opening ? U'(' : c == closing ? U')' : c;
  return encode_utf8(out);
}

// Positions of brackets and colons in a text, so that no span is scanned once for each bracket around it.
struct Index {
  explicit Index(std::u32string_view text) : partner(text.size(), text.npos), colon(text.size() + 1, text.npos) {
    std::vector<size_t> open;
    for (size_t i = 0; i < text.size(); ++i) {
      colon[i + 1] = text[i] == ':' ? i : colon[i];
      if (text[i] == '(') open.push_back(i);
      if (text[i] == ')' && !open.empty()) {
        partner[open.back()] = i;
        open.pop_back();
      }
    }
  }
  std::vector<size_t> partner;  // of an opening bracket
  std::vector<size_t> colon;    // the last one before each position
};

struct WeightedSpan {
  size_t begin, end;
  double weight;
};

class Reader {
 public:
  explicit Reader(std::u32string_view text) : text_(text), index_(text) {}

  std::vector<WeightedText> read() {
    // A stack instead of recursion, because the nesting depth is bounded only by the length of the text.
    std::vector<WeightedSpan> open = {{0, text_.size(), 1}};
    while (!open.empty()) {
      WeightedSpan& span = open.back();
      if (span.begin == span.end) {
        open.pop_back();
        continue;
      }
      const WeightedSpan item = {span.begin, item_end(span), span.weight};
      span.begin = item.end;
      if (item.end - item.begin >= 2 && text_[item.begin] == '(' && text_[item.end - 1] == ')') open.push_back(inside(item));
      else add(item);
    }
    return std::move(out_);
  }

 private:
  // A pair of brackets, or the text before the next one. An unmatched closing bracket is paired with the next opening one.
  size_t item_end(const WeightedSpan& span) const {
    int64_t depth = 0;
    for (size_t i = span.begin; i < span.end; ++i) {
      if (text_[i] == ')') --depth;
      if (text_[i] != '(') continue;
      if (depth == 0 && i > span.begin) return i;
      if (depth == 0) return index_.partner[i] < span.end ? index_.partner[i] + 1 : span.end;
      ++depth;
    }
    return span.end;
  }

  WeightedSpan inside(const WeightedSpan& brackets) const {
    WeightedSpan in = {brackets.begin + 1, brackets.end - 1, brackets.weight * 1.1};
    const size_t colon = index_.colon[in.end];
    if (colon == text_.npos || colon <= in.begin) return in;
    if (const auto weight = python_float(text_.substr(colon + 1, in.end - colon - 1))) in = {in.begin, colon, *weight};
    return in;
  }

  void add(const WeightedSpan& span) {
    if (!std::isfinite(float(span.weight))) fail<UsageError>("prompt: the weight {} is out of range", span.weight);
    out_.push_back({unescape(text_.substr(span.begin, span.end - span.begin)), span.weight});
  }

  std::u32string_view text_;
  Index index_;
  std::vector<WeightedText> out_;
};

}  // namespace

std::vector<WeightedText> comfyui_weights(std::string_view text) {
  const std::u32string escaped = escape(decode_utf8(text));
  return Reader(escaped).read();
}

}  // namespace hearth::text
