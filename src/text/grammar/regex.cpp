#include "text/grammar/regex.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/text/utf8.h"
#include "text/grammar/regex_classes.h"

namespace hearth::text::grammar {
namespace {

constexpr size_t max_pattern_bytes = 65536;
constexpr int max_group_nesting = 200, max_pattern_repeat = 100'000, max_anchors = 50;

// The language of a part, divided by where its matches must stand: bit 0, at the start of the text; bit 1, at its end.
struct Part {
  std::array<Expr, 4> by;          // null: no matches of this kind
  std::array<bool, 4> empty = {};  // whether the empty text is among them
  bool anchored() const { return by[1] || by[2] || by[3]; }
};

Part plain(Expr e, bool empty) {
  Part p;
  p.by[0] = std::move(e);
  p.empty[0] = empty;
  return p;
}

Part anchor(size_t kind) {
  Part p;
  p.by[kind] = text("");
  p.empty[kind] = true;
  return p;
}

void merge(Part& into, size_t kind, Expr e, bool empty) {
  into.by[kind] = into.by[kind] ? choice({into.by[kind], std::move(e)}) : std::move(e);
  into.empty[kind] = into.empty[kind] || empty;
}

// What must stand at the start of the text has nothing in front of it, and what must stand at the end has nothing behind it.
Part joined(const Part& a, const Part& b) {
  Part out;
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < 4; ++j) {
      if (!a.by[i] || !b.by[j]) continue;
      const bool no_a = (j & 1) != 0, no_b = (i & 2) != 0;
      if ((no_a && !a.empty[i]) || (no_b && !b.empty[j])) continue;
      merge(out, i | j, sequence({no_a ? text("") : a.by[i], no_b ? text("") : b.by[j]}), a.empty[i] && b.empty[j]);
    }
  }
  return out;
}

class PatternParser {
 public:
  explicit PatternParser(std::string_view pattern) : text_(decode_utf8(pattern)) {
    if (pattern.size() > max_pattern_bytes)
      fail<UnsupportedError>("regex: the pattern has {} bytes, expected at most {}", pattern.size(), max_pattern_bytes);
    if (!is_utf8(pattern)) fail<UsageError>("regex: the pattern is not valid UTF-8, expected UTF-8");
  }

  Part parse() {
    Part all = parse_choice(0);
    if (at_ < text_.size()) error("an unmatched ')'");
    return all;
  }

 private:
  [[noreturn]] void error(std::string_view what) const { fail<UsageError>("regex: column {}: {}", at_ + 1, what); }
  [[noreturn]] void refuse(size_t at, std::string_view what) const {
    fail<UnsupportedError>("regex: column {}: {} is not supported, expected a pattern without it", at + 1, what);
  }

  bool at_end() const { return at_ >= text_.size(); }
  char32_t peek() const { return at_end() ? 0 : text_[at_]; }
  bool ahead(std::u32string_view word) const { return std::u32string_view(text_).substr(at_).starts_with(word); }
  bool take(std::u32string_view word) {
    if (!ahead(word)) return false;
    at_ += word.size();
    return true;
  }

  CharRange take_one() {
    const char32_t c = text_[at_++];
    return {c, c};
  }

  Part parse_choice(int nesting) {
    if (nesting > max_group_nesting)
      fail<UnsupportedError>("regex: groups are nested more than {} deep, expected fewer", max_group_nesting);
    std::vector<Part> options{parse_sequence(nesting)};
    while (take(U"|")) options.push_back(parse_sequence(nesting));
    if (options.size() == 1) return std::move(options[0]);
    Part out;
    for (size_t kind = 0; kind < 4; ++kind) {
      std::vector<Expr> parts;
      for (const Part& o : options) {
        if (o.by[kind]) parts.push_back(o.by[kind]);
        out.empty[kind] = out.empty[kind] || o.empty[kind];
      }
      if (!parts.empty()) out.by[kind] = choice(std::move(parts));
    }
    return out;
  }

  Part parse_sequence(int nesting) {
    Part all = plain(text(""), true);
    std::vector<Expr> run;  // parts without anchors, since the last one with
    bool run_empty = true;
    const auto end_run = [&] {
      if (!run.empty()) all = joined(all, plain(sequence(std::exchange(run, {})), std::exchange(run_empty, true)));
    };
    while (!at_end() && peek() != '|' && peek() != ')') {
      Part part = parse_term(nesting);
      if (part.anchored()) {
        if (++anchors_ > max_anchors) fail<UnsupportedError>("regex: ^ and $ stand in more than {} places, expected fewer", max_anchors);
        end_run();
        all = joined(all, part);
      } else {
        run.push_back(part.by[0] ? part.by[0] : bytes({}));
        run_empty = run_empty && part.empty[0];
      }
    }
    end_run();
    return all;
  }

  Part parse_term(int nesting) {
    const size_t start = at_;
    Part part = parse_atom(nesting);
    const auto counts = parse_counts();
    if (!counts) return part;
    auto [min, max] = *counts;
    if (!at_end() && parse_counts()) {
      at_ = start;
      error("a repetition of a repetition, expected a group");
    }
    if (!part.anchored()) return plain(repeat(part.by[0] ? part.by[0] : bytes({}), min, max), min == 0 || part.empty[0]);
    if (min == 1 && max == 1) return part;
    if (min == 0 && max == 1) {
      merge(part, 0, text(""), true);
      return part;
    }
    refuse(start, "^ or $ in a part that is repeated");
  }

  std::optional<std::pair<int, int>> parse_counts() {
    std::optional<std::pair<int, int>> counts;
    if (take(U"*")) counts = {0, -1};
    else if (take(U"+")) counts = {1, -1};
    else if (take(U"?")) counts = {0, 1};
    else if (peek() == '{') counts = parse_braces();
    if (counts) take(U"?");
    return counts;
  }

  std::optional<std::pair<int, int>> parse_braces() {
    const size_t start = at_++;
    const auto number = [&]() -> std::optional<int> {
      if (peek() < '0' || peek() > '9') return std::nullopt;
      int value = 0;
      for (; peek() >= '0' && peek() <= '9'; ++at_) {
        value = value * 10 + int(peek() - '0');
        if (value > max_pattern_repeat) fail<UnsupportedError>("regex: a repetition of more than {}, expected fewer", max_pattern_repeat);
      }
      return value;
    };
    const auto min = number();
    std::optional<int> max = min;
    if (min && take(U",")) max = peek() == '}' ? -1 : number();
    if (!min || !max || !take(U"}")) {
      at_ = start;
      return std::nullopt;
    }
    if (*max >= 0 && *max < *min) error("a repetition whose maximum is below its minimum");
    return std::pair(*min, *max);
  }

  Part parse_atom(int nesting) {
    const size_t start = at_;
    switch (peek()) {
      case '^': ++at_; return anchor(1);
      case '$': ++at_; return anchor(2);
      case '(': return parse_group(nesting);
      case '.': ++at_; return plain(characters(normalized(line_break_ranges(), true)), false);
      case '[': return plain(characters(parse_class()), false);
      case '*':
      case '+':
      case '?': error("a repetition of nothing");
      case '{':
        if (parse_braces()) {
          at_ = start;
          error("a repetition of nothing");
        }
        ++at_;
        return plain(text("{"), false);
      case '\\': return plain(characters(parse_escape(false)), false);
      default: return plain(characters(std::vector<CharRange>{take_one()}), false);
    }
  }

  Part parse_group(int nesting) {
    const size_t start = at_++;
    if (take(U"?")) {
      if (ahead(U"=") || ahead(U"!")) refuse(start, "lookahead");
      if (ahead(U"<=") || ahead(U"<!")) refuse(start, "lookbehind");
      if (take(U"<")) {
        while (!at_end() && peek() != '>') ++at_;
        if (!take(U">")) error("the name of a group is not closed, expected '>'");
      } else if (!take(U":")) {
        refuse(start, "a group with flags");
      }
    }
    Part inner = parse_choice(nesting + 1);
    if (!take(U")")) {
      at_ = start;
      error("the group is not closed, expected ')'");
    }
    return inner;
  }

  char32_t parse_hex(int digits) {
    char32_t value = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      const char32_t c = peek(), lower = c | 0x20;
      if (c >= '0' && c <= '9') value = value * 16 + (c - '0');
      else if (lower >= 'a' && lower <= 'f') value = value * 16 + (lower - 'a' + 10);
      else error("an escape needs hexadecimal digits");
    }
    return value;
  }

  char32_t parse_unicode_escape(size_t start) {
    char32_t c = 0;
    if (take(U"{")) {
      int digits = 0;
      for (; peek() != '}'; ++digits) {
        if (digits == 8) error("an escape of more than 8 digits");
        c = c * 16 + parse_hex(1);
      }
      if (digits == 0) error("an escape without digits");
      ++at_;
    } else {
      c = parse_hex(4);
      if (c >= 0xd800 && c < 0xdc00 && take(U"\\u")) {
        const char32_t low = parse_hex(4);
        if (low < 0xdc00 || low > 0xdfff) refuse(start, "a surrogate");
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
      }
    }
    if (c >= 0xd800 && c <= 0xdfff) refuse(start, "a surrogate");
    if (!is_character(c)) error("an escape of no character");
    return c;
  }

  std::vector<CharRange> parse_property(size_t start, bool inverted) {
    std::string name;
    if (!take(U"{")) error("expected '{' and the name of a property");
    while (!at_end() && peek() != '}') append_utf8(name, text_[at_++]);
    if (!take(U"}")) error("the name of a property is not closed, expected '}'");
    const auto ranges = property_ranges(name);
    if (!ranges) refuse(start, "the property '" + name + "'");
    return normalized(*ranges, inverted);
  }

  std::vector<CharRange> parse_escape(bool in_class) {
    const size_t start = at_++;
    if (at_end()) error("the pattern ends with a backslash");
    const char32_t c = text_[at_++];
    const auto one = [](char32_t code) { return std::vector<CharRange>{{code, code}}; };
    switch (c) {
      case 'd': return digit_ranges();
      case 'D': return normalized(digit_ranges(), true);
      case 'w': return word_ranges();
      case 'W': return normalized(word_ranges(), true);
      case 's': return space_ranges();
      case 'S': return normalized(space_ranges(), true);
      case 'p':
      case 'P': return parse_property(start, c == 'P');
      case 't': return one('\t');
      case 'n': return one('\n');
      case 'v': return one('\v');
      case 'f': return one('\f');
      case 'r': return one('\r');
      case 'x': return one(parse_hex(2));
      case 'u': return one(parse_unicode_escape(start));
      case 'c': {
        const char32_t letter = peek() | 0x20;
        if (letter < 'a' || letter > 'z') error("\\c needs a letter");
        ++at_;
        return one(letter - 'a' + 1);
      }
      case 'b':
        if (in_class) return one('\b');
        refuse(start, "\\b");
      case 'B': refuse(start, "\\B");
      case 'k': refuse(start, "a backreference");
      case '0':
        if (peek() >= '0' && peek() <= '9') refuse(start, "an octal escape");
        return one(0);
      default: break;
    }
    if (c >= '1' && c <= '9') refuse(start, "a backreference");
    if (c < 0x80 && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) {
      at_ = start;
      error("an unknown escape");
    }
    return one(c);
  }

  std::vector<CharRange> parse_class() {
    const size_t start = at_++;
    const bool inverted = take(U"^");
    std::vector<CharRange> ranges;
    const auto member = [&] {
      if (at_end()) {
        at_ = start;
        error("the class is not closed, expected ']'");
      }
      return peek() == '\\' ? parse_escape(true) : std::vector<CharRange>{take_one()};
    };
    while (!take(U"]")) {
      const size_t here = at_;
      std::vector<CharRange> first = member();
      if (ahead(U"-") && !ahead(U"-]")) {
        ++at_;
        const std::vector<CharRange> last = member();
        const auto single = [](const std::vector<CharRange>& r) { return r.size() == 1 && r[0].first == r[0].last; };
        if (!single(first) || !single(last) || last[0].first < first[0].first) {
          at_ = here;
          error("an invalid range");
        }
        first[0].last = last[0].first;
      }
      ranges.insert(ranges.end(), first.begin(), first.end());
    }
    return normalized(ranges, inverted);
  }

  std::u32string text_;
  size_t at_ = 0;
  int anchors_ = 0;
};

}  // namespace

Expr regex(std::string_view pattern, RegexMatch match) {
  const Part all = PatternParser(pattern).parse();
  const Expr anything = match == RegexMatch::search ? repeat(any_character(), 0, -1) : text("");
  std::vector<Expr> options;
  for (size_t kind = 0; kind < 4; ++kind) {
    if (!all.by[kind]) continue;
    options.push_back(sequence({(kind & 1) != 0 ? text("") : anything, all.by[kind], (kind & 2) != 0 ? text("") : anything}));
  }
  return choice(std::move(options));
}

}  // namespace hearth::text::grammar
