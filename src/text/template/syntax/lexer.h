// A template's source cut into tokens, with white space around tags removed as the options of chat templates say: trim_blocks (the line
// end behind a block or comment goes), lstrip_blocks (blanks before one at the start of a line go), `-` and `+` at either end of a tag,
// CR LF and CR read as LF, one line end at the end of the template dropped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/template/values/value.h"

namespace hearth::text::jinja {

struct Token {
  enum class Type { data, print_begin, print_end, block_begin, block_end, name, text, integer, real, symbol, end };

  bool is_symbol(std::string_view s) const { return type == Type::symbol && text == s; }
  bool is_name(std::string_view s) const { return type == Type::name && text == s; }

  Type type;
  int line;
  std::string text;  // data, name, symbol; the value of a text
  Value number;      // of an integer or real
};

// Ends with one Type::end. TemplateError (Failure::syntax, with its line) for what is no template, Unsupported for numbers
// as 0x1f or 1_000. The source is UTF-8.
std::vector<Token> tokenize(std::string_view source);

// How messages call a token: 'end of print statement', ':', 'name' ….
std::string describe(const Token& token);

}  // namespace hearth::text::jinja
