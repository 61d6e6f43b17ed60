// Splits the source of a template into tokens, and removes white space around tags by the options of chat templates: trim_blocks (removes
// the line end after a block or comment), lstrip_blocks (removes blanks before one at the start of a line), `-` and `+` at either end of a
// tag. CR LF and CR are read as LF, and one line end at the end of the template is dropped.
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

// The tokens end with one Type::end. TemplateError (Failure::syntax, with its line) for an invalid template. The source is UTF-8.
std::vector<Token> tokenize(std::string_view source);

// The name of a token in messages: 'end of print statement', ':', 'name' ….
std::string describe(const Token& token);

}  // namespace hearth::text::jinja
