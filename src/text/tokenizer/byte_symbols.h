// GPT-2's table of printable characters that represent bytes in the spellings of tokens.
#pragma once

#include <string>
#include <string_view>

namespace hearth::text::pipeline {

// Appends the characters that represent the bytes, in UTF-8.
void append_byte_symbols(std::string& out, std::string_view bytes);
// The inverse; if a character represents no byte, returns false and appends nothing.
bool append_bytes_of_symbols(std::string& out, std::string_view symbols);

}  // namespace hearth::text::pipeline
