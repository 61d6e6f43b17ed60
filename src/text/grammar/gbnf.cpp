#include "text/grammar/gbnf.h"

#include <map>
#include <utility>

#include "core/error.h"
#include "core/text/utf8.h"

namespace hearth::text::grammar {
namespace {

constexpr size_t max_gbnf_bytes = size_t(1) << 20;
constexpr int max_gbnf_nesting = 200, max_gbnf_repeat = 100'000;

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; }

class GbnfParser {
 public:
  explicit GbnfParser(std::string_view text) : text_(text) {}

  Rules parse() {
    if (text_.size() > max_gbnf_bytes)
      fail<UnsupportedError>("gbnf: the text has {} bytes, expected at most {}", text_.size(), max_gbnf_bytes);
    if (!is_utf8(text_)) fail<UsageError>("gbnf: the text is not valid UTF-8, expected UTF-8");
    skip_space(true);
    while (at_ < text_.size()) {
      parse_rule();
      skip_space(true);
    }
    for (size_t i = 0; i < rules_.rules.size(); ++i) {
      if (!rules_.rules[i].body) error_at(first_use_[i], "the rule '" + rules_.rules[i].name + "' is not defined");
    }
    const auto root = numbers_.find("root");
    if (root == numbers_.end()) error("there is no rule 'root'");
    rules_.root = root->second;
    return std::move(rules_);
  }

 private:
  [[noreturn]] void error(const std::string& what) const { error_at(at_, what); }
  [[noreturn]] void error_at(size_t at, const std::string& what) const {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at; ++i) {
      if (text_[i] == '\n') {
        ++line;
        column = 1;
      } else if (!is_continuation(text_[i])) {
        ++column;
      }
    }
    fail<UsageError>("gbnf: line {}, column {}: {}", line, column, what);
  }

  bool ahead(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(std::string_view word) {
    if (!ahead(word)) return false;
    at_ += word.size();
    return true;
  }

  void skip_space(bool over_lines) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == ' ' || c == '\t' || (over_lines && (c == '\n' || c == '\r'))) {
        ++at_;
      } else {
        break;
      }
    }
  }

  int number_of(const std::string& name, size_t at) {
    const auto [found, fresh] = numbers_.emplace(name, int(rules_.rules.size()));
    if (fresh) {
      rules_.rules.push_back({name, nullptr});
      first_use_.push_back(at);
    }
    return found->second;
  }

  std::string parse_name() {
    const size_t start = at_;
    while (is_word(peek())) ++at_;
    if (at_ == start) error(at_ < text_.size() ? "expected the name of a rule" : "the text ends here, expected the name of a rule");
    return std::string(text_.substr(start, at_ - start));
  }

  void parse_rule() {
    const size_t start = at_;
    const std::string name = parse_name();
    const auto rule = size_t(number_of(name, start));
    if (rules_.rules[rule].body) error_at(start, "the rule '" + name + "' is defined twice");
    skip_space(false);
    if (!take("::=")) error("expected '::=' after the name of a rule");
    skip_space(true);
    Expr body = parse_choice(0);
    rules_.rules[rule].body = std::move(body);
    skip_space(false);
    if (at_ < text_.size() && !ahead("\n") && !ahead("\r")) error("expected the end of the rule, or a part of it");
  }

  Expr parse_choice(int nesting) {
    if (nesting > max_gbnf_nesting) fail<UnsupportedError>("gbnf: groups are nested more than {} deep, expected fewer", max_gbnf_nesting);
    std::vector<Expr> parts{parse_sequence(nesting)};
    for (;;) {
      const size_t end = at_;
      skip_space(true);
      if (!take("|")) {
        if (nesting == 0) at_ = end;
        break;
      }
      skip_space(true);
      parts.push_back(parse_sequence(nesting));
    }
    return choice(std::move(parts));
  }

  Expr parse_sequence(int nesting) {
    std::vector<Expr> parts;
    for (;;) {
      skip_space(nesting > 0);
      const char c = peek();
      if (c == '"') parts.push_back(parse_literal());
      else if (c == '[') parts.push_back(parse_class());
      else if (take(".")) parts.push_back(any_character());
      else if (c == '(') parts.push_back(parse_group(nesting));
      else if (c == '<' || c == '!') fail<UnsupportedError>("gbnf: tokens (<…>) are not supported, expected their text as a literal");
      else if (is_word(c)) {
        const size_t start = at_;
        parts.push_back(call(number_of(parse_name(), start)));
      } else break;
      parse_repetitions(parts.back());
    }
    return sequence(std::move(parts));
  }

  Expr parse_group(int nesting) {
    const size_t start = at_++;
    Expr inner = parse_choice(nesting + 1);
    if (!take(")"))
      at_ < text_.size() ? error("expected ')' or a part of the group") : error_at(start, "the group is not closed, expected ')'");
    return inner;
  }

  void parse_repetitions(Expr& part) {
    for (;;) {
      const size_t start = at_;
      int min = 0, max = -1;
      if (take("*")) {
      } else if (take("+")) {
        min = 1;
      } else if (take("?")) {
        max = 1;
      } else if (take("{")) {
        skip_space(false);
        min = parse_count();
        max = min;
        skip_space(false);
        if (take(",")) {
          skip_space(false);
          max = peek() == '}' ? -1 : parse_count();
          skip_space(false);
        }
        if (!take("}")) error("expected '}' after the counts of a repetition");
        if (max >= 0 && max < min) error_at(start, "the repetition has a maximum below its minimum");
      } else {
        return;
      }
      part = repeat(std::move(part), min, max);
      if (++repetitions_ > 10'000) error_at(start, "there are more than 10000 repetitions");
    }
  }

  int parse_count() {
    if (peek() < '0' || peek() > '9') error("expected a number");
    int value = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      value = value * 10 + (peek() - '0');
      if (value > max_gbnf_repeat) fail<UnsupportedError>("gbnf: a repetition of more than {}, expected fewer", max_gbnf_repeat);
    }
    return value;
  }

  char32_t parse_hex(int digits) {
    char32_t value = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      const char c = peek(), lower = char(c | 0x20);
      if (c >= '0' && c <= '9') value = value * 16 + char32_t(c - '0');
      else if (lower >= 'a' && lower <= 'f') value = value * 16 + char32_t(lower - 'a' + 10);
      else error("expected " + std::to_string(digits) + " hexadecimal digits");
    }
    if (!is_character(value)) error("a code point that is no character");
    return value;
  }

  char32_t parse_character() {
    if (!take("\\")) {
      if (ahead("\n")) error("the line ends inside a literal or class");
      return next_character(text_, at_);
    }
    const char c = peek();
    if (c == '\0') error("the text ends inside an escape");
    ++at_;
    switch (c) {
      case 'n': return '\n';
      case 'r': return '\r';
      case 't': return '\t';
      case 'x': return parse_hex(2);
      case 'u': return parse_hex(4);
      case 'U': return parse_hex(8);
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^': return char32_t(c);
      default: --at_; error("an unknown escape");
    }
  }

  Expr parse_literal() {
    const size_t start = at_++;
    std::string literal;
    while (!take("\"")) {
      if (at_ >= text_.size()) error_at(start, "the literal is not closed, expected '\"'");
      append_utf8(literal, parse_character());
    }
    return grammar::text(literal);
  }

  Expr parse_class() {
    const size_t start = at_++;
    const bool inverted = take("^");
    std::vector<CharRange> ranges;
    while (!take("]")) {
      if (at_ >= text_.size()) error_at(start, "the class is not closed, expected ']'");
      const size_t here = at_;
      const char32_t first = parse_character();
      char32_t last = first;
      if (ahead("-") && !ahead("-]")) {
        ++at_;
        if (at_ >= text_.size()) error_at(start, "the class is not closed, expected ']'");
        last = parse_character();
        if (last < first) error_at(here, "a range whose end is before its start");
      }
      ranges.push_back({first, last});
    }
    return characters(normalized(ranges, inverted));
  }

  std::string_view text_;
  size_t at_ = 0;
  Rules rules_;
  std::map<std::string, int> numbers_;
  std::vector<size_t> first_use_;  // of each rule
  int repetitions_ = 0;
};

}  // namespace

Rules gbnf(std::string_view text) { return GbnfParser(text).parse(); }

}  // namespace hearth::text::grammar
