#include "server/tools/json_scanner.h"

#include <fmt/format.h>

#include <algorithm>

namespace hearth::server::tools {
namespace {

constexpr size_t max_depth = 200;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

JsonScanner::Step JsonScanner::open(char c) {
  switch (c) {
    case '{':
    case '[':
      if (stack_.size() == max_depth) return Step::bad;
      stack_ += c;
      state_ = c == '{' ? State::first_key : State::first_element;
      return Step::inside;
    case '"':
      in_key_ = false;
      state_ = State::string;
      return Step::inside;
    case 't': literal_ = "rue"; break;
    case 'f': literal_ = "alse"; break;
    case 'n': literal_ = "ull"; break;
    default:
      if (c != '-' && !is_digit(c)) return Step::bad;
      digits_ = c == '-' ? Digits::minus : c == '0' ? Digits::zero : Digits::integer;
      state_ = State::number;
      return Step::inside;
  }
  state_ = State::literal;
  return Step::inside;
}

JsonScanner::Step JsonScanner::close() {
  stack_.pop_back();
  value_ended();
  return state_ == State::end ? Step::ended : Step::inside;
}

JsonScanner::Step JsonScanner::string_byte(char c) {
  if (low_expected_ && c != '\\') return Step::bad;
  if (c == '\\') {
    state_ = State::escape;
  } else if (c == '"') {
    if (in_key_) state_ = State::colon;
    else value_ended();
    if (state_ == State::end) return Step::ended;
  } else if (uint8_t(c) < 0x20) {
    return Step::bad;
  }
  return Step::inside;
}

JsonScanner::Step JsonScanner::hex_digit(char c) {
  const int digit = hex_value(c);
  if (digit < 0) return Step::bad;
  code_ = code_ * 16 + uint32_t(digit);
  if (++hex_digits_ < 4) return Step::inside;
  const bool high = code_ >= 0xd800 && code_ < 0xdc00, low = code_ >= 0xdc00 && code_ < 0xe000;
  if (low != low_expected_) return Step::bad;
  low_expected_ = high;
  state_ = State::string;
  return Step::inside;
}

bool JsonScanner::number_complete() const {
  return digits_ == Digits::zero || digits_ == Digits::integer || digits_ == Digits::fraction || digits_ == Digits::power;
}

JsonScanner::Step JsonScanner::number_byte(char c) {
  const bool digit = is_digit(c);
  switch (digits_) {
    case Digits::minus:
      if (!digit) return Step::bad;
      digits_ = c == '0' ? Digits::zero : Digits::integer;
      return Step::inside;
    case Digits::point:
      if (!digit) return Step::bad;
      digits_ = Digits::fraction;
      return Step::inside;
    case Digits::exponent:
      if (c == '+' || c == '-') digits_ = Digits::sign;
      else if (digit) digits_ = Digits::power;
      else return Step::bad;
      return Step::inside;
    case Digits::sign:
      if (!digit) return Step::bad;
      digits_ = Digits::power;
      return Step::inside;
    case Digits::zero:
    case Digits::integer:
      if (digit && digits_ == Digits::integer) return Step::inside;
      if (c == '.') return digits_ = Digits::point, Step::inside;
      if (c == 'e' || c == 'E') return digits_ = Digits::exponent, Step::inside;
      break;
    case Digits::fraction:
      if (digit) return Step::inside;
      if (c == 'e' || c == 'E') return digits_ = Digits::exponent, Step::inside;
      break;
    case Digits::power:
      if (digit) return Step::inside;
      break;
  }
  value_ended();
  return state_ == State::end ? Step::past : push(c);
}

JsonScanner::Step JsonScanner::push(char c) {
  switch (state_) {
    case State::string: return string_byte(c);
    case State::escape:
      if (c == 'u') return state_ = State::hex, hex_digits_ = 0, code_ = 0, Step::inside;
      if (low_expected_ || std::string_view("\"\\/bfnrt").find(c) == std::string_view::npos) return Step::bad;
      state_ = State::string;
      return Step::inside;
    case State::hex: return hex_digit(c);
    case State::number: return number_byte(c);
    case State::literal:
      if (c != literal_[0]) return Step::bad;
      literal_.remove_prefix(1);
      if (literal_.empty()) value_ended();
      return state_ == State::end ? Step::ended : Step::inside;
    case State::end: return Step::past;
    default: break;
  }
  if (is_json_space(c)) return Step::inside;
  switch (state_) {
    case State::first_element:
      if (c == ']') return close();
      return open(c);
    case State::first_key:
      if (c == '}') return close();
      [[fallthrough]];
    case State::key:
      if (c != '"') return Step::bad;
      in_key_ = true;
      state_ = State::string;
      return Step::inside;
    case State::colon:
      if (c != ':') return Step::bad;
      state_ = State::value;
      return Step::inside;
    case State::after:
      if (c == ',') state_ = stack_.back() == '{' ? State::key : State::value;
      else if (c == (stack_.back() == '{' ? '}' : ']')) return close();
      else return Step::bad;
      return Step::inside;
    default: return open(c);
  }
}

bool is_json(std::string_view text) {
  JsonScanner scanner;
  for (size_t i = 0; i < text.size(); ++i) {
    const JsonScanner::Step step = scanner.push(text[i]);
    if (step == JsonScanner::Step::inside) continue;
    if (step == JsonScanner::Step::bad) return false;
    const std::string_view rest = text.substr(step == JsonScanner::Step::past ? i : i + 1);
    return std::ranges::all_of(rest, is_json_space);
  }
  return scanner.complete();
}

bool ends_in_json_string(std::string_view text) {
  JsonScanner scanner;
  return std::ranges::all_of(text, [&](char c) { return scanner.push(c) == JsonScanner::Step::inside; }) && scanner.in_string();
}

std::string escaped_json(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (uint8_t(c) < 0x20) out += fmt::format("\\u{:04x}", unsigned(c));
        else out += c;
    }
  }
  return out;
}

}  // namespace hearth::server::tools
