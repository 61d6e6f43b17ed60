// What Python's regular expressions mean by \w, \b and \s, for the parsers of prompts.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace hearth::text {

bool is_python_word(char32_t c);  // \w: str.isalnum or '_'

// Where `word` stands in `text` from `begin` on, with a word boundary at both ends; npos where it does not.
size_t find_whole_word(std::u32string_view text, std::u32string_view word, size_t begin = 0);

// Without the Python white space around it.
std::u32string_view strip_python(std::u32string_view text);

// What Python's float() makes of the whole text, white space around it allowed: digits with an exponent, inf and nan, single underscores
// between digits. Only ASCII digits. nullopt where float() would raise.
std::optional<double> python_float(std::u32string_view text);

}  // namespace hearth::text
