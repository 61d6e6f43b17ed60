// Reads one JSON value byte by byte, to find its end and its first fault.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hearth::server::tools {

// The grammar of RFC 8259, with escaped surrogates only in pairs, at most 200 levels deep. The input is UTF-8, which is not checked.
class JsonScanner {
 public:
  enum class Step {
    inside,  // the value continues, or may continue
    ended,   // this byte was its last
    past,    // it ended before this byte, which does not belong to it: numbers alone end like this
    bad,     // this byte cannot follow
  };
  // After ended, past or bad, nothing more may be pushed.
  Step push(char c);
  bool in_string() const { return state_ == State::string || state_ == State::escape || state_ == State::hex; }
  // Whether the value is complete if the text ends here.
  bool complete() const { return state_ == State::end || (stack_.empty() && state_ == State::number && number_complete()); }

 private:
  enum class State { value, first_element, first_key, key, colon, after, string, escape, hex, literal, number, end };
  enum class Digits { minus, zero, integer, point, fraction, exponent, sign, power };

  Step open(char c);
  Step string_byte(char c);
  Step hex_digit(char c);
  Step number_byte(char c);
  Step close();
  void value_ended() { state_ = stack_.empty() ? State::end : State::after; }
  bool number_complete() const;

  State state_ = State::value;
  Digits digits_ = Digits::minus;
  std::string stack_;         // '{' and '['
  std::string_view literal_;  // what is left of true, false or null
  bool in_key_ = false;
  bool low_expected_ = false;  // the next escape must be the second half of a pair
  int hex_digits_ = 0;
  uint32_t code_ = 0;
};

// Whether the text is one JSON value, with white space around it.
bool is_json(std::string_view text);

// Whether the text is the beginning of a JSON value that ends inside a string.
bool ends_in_json_string(std::string_view text);

// The contents of a JSON string for this text, without the quotes. Of each byte on its own, so pieces of a text may be given one by one.
std::string escaped_json(std::string_view text);

bool is_json_space(char c);

}  // namespace hearth::server::tools
