#include "text/template/syntax/lexer.h"

#include <array>
#include <charconv>

#include "core/text/utf8.h"
#include "text/template/syntax/string_literal.h"
#include "text/template/values/printing.h"
#include "text/template/values/python_text.h"
#include "text/unicode.h"

namespace hearth::text::jinja {

namespace {

// Longest first.
constexpr std::array<std::string_view, 26> symbols = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
                                                      "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

std::string normalized(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') out += source[i];
    else if (i + 1 == source.size() || source[i + 1] != '\n') out += '\n';
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normalized(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) text_then_tag();
    add(Token::Type::end, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void wrong(const std::string& message) const { throw TemplateError(Failure::syntax, message, "", line_); }

  std::string_view rest() const { return std::string_view(source_).substr(at_); }

  void add(Token::Type type, std::string text, Value number = {}) { tokens_.push_back({type, line_, std::move(text), std::move(number)}); }

  // Moves on, counting lines.
  std::string_view take(size_t bytes) {
    const std::string_view taken = rest().substr(0, bytes);
    line_ += int(std::count(taken.begin(), taken.end(), '\n'));
    at_ += taken.size();
    return taken;
  }

  void skip_space() { take(rest().size() - strip(rest(), Side::left).size()); }

  // -1 -, +1 +, 0 neither; taken where it stands.
  int sign() {
    const int found = rest().starts_with('-') ? -1 : rest().starts_with('+') ? 1 : 0;
    if (found) take(1);
    return found;
  }

  void text_then_tag() {
    size_t tag = at_;
    for (;; ++tag) {
      tag = source_.find('{', tag);
      if (tag == std::string::npos || tag + 1 == source_.size()) {
        tag = source_.size();
        break;
      }
      const char next = source_[tag + 1];
      if (next == '{' || next == '%' || next == '#') break;
    }
    const size_t start = at_;
    const int line = line_;
    take(tag - at_);
    if (at_ == source_.size()) return data(source_.substr(start), line);
    const char kind = source_[at_ + 1];
    take(2);
    const int before = sign();
    const bool line_starting = start == 0 || source_[start - 1] == '\n';
    data(left_stripped(std::string_view(source_).substr(start, tag - start), before, kind != '{', line_starting), line);
    if (kind == '#') comment();
    else if (kind == '%' && raw_begins()) raw();
    else tag_body(kind == '{');
  }

  void data(std::string_view text, int line) {
    if (text.empty()) return;
    tokens_.push_back({Token::Type::data, line, std::string(text), {}});
  }

  static std::string_view left_stripped(std::string_view text, int sign, bool is_block, bool line_starting) {
    if (sign < 0) return strip(text, Side::right);
    if (sign > 0 || !is_block) return text;
    const size_t line = text.rfind('\n') + 1;  // 0 without a line end
    if (line == 0 && !line_starting) return text;
    return strip(text.substr(line)).empty() ? text.substr(0, line) : text;
  }

  // Behind a tag: `-` takes all white space, a block the line end; the sign and the end mark have been taken.
  void after_end(int sign, bool is_block) {
    if (sign < 0) skip_space();
    else if (sign == 0 && is_block && rest().starts_with('\n')) take(1);
  }

  void comment() {
    const size_t end = source_.find("#}", at_);
    if (at_ == source_.size()) return;  // Jinja2 forgives one that has nothing in it
    if (end == std::string::npos) wrong("Missing end of comment tag");
    const char last = end > at_ ? source_[end - 1] : ' ';
    take(end + 2 - at_);
    after_end(last == '-' ? -1 : last == '+' ? 1 : 0, true);
  }

  // Whether the word and a tag's end stand here, behind white space.
  bool word_and_end(size_t at, std::string_view word, bool with_plus, size_t& end, int& sign) const {
    std::string_view text = strip(std::string_view(source_).substr(at), Side::left);
    if (!text.starts_with(word)) return false;
    text = strip(text.substr(word.size()), Side::left);
    sign = text.starts_with('-') ? -1 : with_plus && text.starts_with('+') ? 1 : 0;
    if (sign) text.remove_prefix(1);
    if (!text.starts_with("%}")) return false;
    end = size_t(text.data() + 2 - source_.data());
    return true;
  }

  bool raw_begins() {
    size_t end = 0;
    int sign = 0;
    if (!word_and_end(at_, "raw", false, end, sign)) return false;
    take(end - at_);
    if (sign < 0) skip_space();
    return true;
  }

  void raw() {
    const size_t start = at_;
    if (start == source_.size()) return;
    for (size_t tag = at_; (tag = source_.find("{%", tag)) != std::string::npos; tag += 2) {
      const char c = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
      const int before = c == '-' ? -1 : c == '+' ? 1 : 0;
      size_t end = 0;
      int after = 0;
      if (!word_and_end(tag + 2 + size_t(before != 0), "endraw", true, end, after)) continue;
      const int line = line_;
      const bool line_starting = start == 0 || source_[start - 1] == '\n';
      data(left_stripped(std::string_view(source_).substr(start, tag - start), before, true, line_starting), line);
      take(end - at_);
      after_end(after, true);
      return;
    }
    wrong("Missing end of raw directive");
  }

  void tag_body(bool is_print) {
    add(is_print ? Token::Type::print_begin : Token::Type::block_begin, "");
    const std::string_view end = is_print ? "}}" : "%}";
    open_.clear();
    while (true) {
      skip_space();
      if (at_ == source_.size()) return;  // the parser misses the end
      if (open_.empty()) {
        const std::string_view here = rest();
        const int sign = here.starts_with('-') ? -1 : here.starts_with('+') && !is_print ? 1 : 0;
        if (here.substr(sign ? 1 : 0).starts_with(end)) {
          add(is_print ? Token::Type::print_end : Token::Type::block_end, "");
          take(2 + size_t(sign != 0));
          return after_end(sign, !is_print);
        }
      }
      token();
    }
  }

  void token() {
    const std::string_view here = rest();
    const char c = here[0];
    if (is_digit(c)) return number();
    if (c == '\'' || c == '"') return string_token(c);
    if (word_character(here) > 0) return name();
    for (const std::string_view s : symbols) {
      if (!here.starts_with(s)) continue;
      balance(c);
      add(Token::Type::symbol, std::string(s));
      take(s.size());
      return;
    }
    unexpected(here.substr(0, byte_of(here, 1)));
  }

  void balance(char c) {
    if (c == '(' || c == '[' || c == '{') open_ += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c != ')' && c != ']' && c != '}') return;
    if (open_.empty()) wrong(fmt::format("unexpected '{}'", c));
    if (open_.back() != c) wrong(fmt::format("unexpected '{}', expected '{}'", c, open_.back()));
    open_.pop_back();
  }

  [[noreturn]] void unexpected(std::string_view character) const {
    const size_t place = count_characters(std::string_view(source_).substr(0, at_));
    wrong(fmt::format("unexpected char {} at {}", repr_text(character), place));
  }

  // The bytes of the letter, digit or underscore that stands first, 0 for anything else.
  static size_t word_character(std::string_view s) {
    if (s.empty()) return 0;
    if (static_cast<unsigned char>(s[0]) < 0x80) return is_digit(s[0]) || s[0] == '_' || ((s[0] | 0x20) >= 'a' && (s[0] | 0x20) <= 'z');
    size_t bytes = 0;
    return is_word_character(next_character(s, bytes)) ? bytes : 0;
  }

  void name() {
    size_t bytes = 0;
    while (const size_t more = word_character(rest().substr(bytes))) bytes += more;
    const std::string text(rest().substr(0, bytes));
    if (!is_identifier(text)) wrong("Invalid character in identifier");
    add(Token::Type::name, text);
    take(bytes);
  }

  void string_token(char quote) {
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) unexpected(std::string_view(&quote, 1));
    const std::string_view body = std::string_view(source_).substr(at_ + 1, end - at_ - 1);
    std::string value;
    try {
      value = unescape(body);
    } catch (const TemplateError& e) { wrong(e.message); }
    add(Token::Type::text, std::move(value));
    take(end + 1 - at_);
  }

  static size_t digits(std::string_view s) { return std::min(s.find_first_not_of("0123456789"), s.size()); }

  void number() {
    const std::string_view here = rest();
    const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
    const size_t whole = digits(here);
    const auto digit_at = [&](size_t i) { return i < here.size() && is_digit(here[i]); };
    size_t end = whole;
    if (!after_dot) {
      if (end < here.size() && here[end] == '.' && digit_at(end + 1)) end += 1 + digits(here.substr(end + 1));
      if (end < here.size() && (here[end] == 'e' || here[end] == 'E')) {
        const size_t sign = end + 1 < here.size() && (here[end + 1] == '+' || here[end + 1] == '-') ? 1 : 0;
        if (digit_at(end + 1 + sign)) end += 1 + sign + digits(here.substr(end + 1 + sign));
      }
    }
    const char next = end < here.size() ? here[end] : ' ', letter = char(next | 0x20);
    const bool based =
        here.substr(0, end) == "0" && (letter == 'x' || letter == 'o' || letter == 'b') && word_character(here.substr(end + 1));
    if (based || (next == '_' && digit_at(end + 1)))
      throw Unsupported{fmt::format("a number that begins as '{}{}'", here.substr(0, end), next), line_};
    if (end > whole) return real(here.substr(0, end));
    if (here[0] == '0') end = std::min(here.find_first_not_of('0'), here.size());  // what follows is the next token
    add(Token::Type::integer, "", Value::whole(std::string(here.substr(0, end))));
    take(end);
  }

  void real(std::string_view s) {
    double value = 0;
    // Too large is infinite, as in Python; from_chars leaves the value alone then.
    if (std::from_chars(s.data(), s.data() + s.size(), value).ec == std::errc::result_out_of_range)
      value = std::strtod(std::string(s).c_str(), nullptr);
    add(Token::Type::real, "", Value(value));
    take(s.size());
  }

  std::string source_;
  size_t at_ = 0;
  int line_ = 1;
  std::string open_;  // the brackets that a tag has to close
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

std::string describe(const Token& token) {
  switch (token.type) {
    case Token::Type::data: return "template data / text";
    case Token::Type::print_begin: return "begin of print statement";
    case Token::Type::print_end: return "end of print statement";
    case Token::Type::block_begin: return "begin of statement block";
    case Token::Type::block_end: return "end of statement block";
    case Token::Type::text: return "string";
    case Token::Type::integer: return "integer";
    case Token::Type::real: return "float";
    case Token::Type::end: return "end of template";
    case Token::Type::name:
    case Token::Type::symbol: return token.text;
  }
  return "";
}

}  // namespace hearth::text::jinja
