// \w, \b and \s of Python's regular expressions, and its methods of texts, for the readers of prompts.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::text {

bool is_python_word(char32_t c);  // \w: str.isalnum or '_'

// The position of `word` in `text` from `begin` on, with a word boundary at both ends; npos if it does not occur.
size_t find_whole_word(std::u32string_view text, std::u32string_view word, size_t begin = 0);

// Strips Python's white space from both ends.
std::u32string_view strip_python(std::u32string_view text);

// Python's text.lower().strip(), of UTF-8.
std::string lowered_and_stripped(std::string_view text);

// Python's float() of the whole text, which may have white space around it: digits with an exponent, inf and nan, single underscores
// between digits. Only ASCII digits. nullopt if float() would raise.
std::optional<double> python_float(std::u32string_view text);

}  // namespace hearth::text
