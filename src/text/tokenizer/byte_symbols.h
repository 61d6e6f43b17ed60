// GPT-2's table: the printable characters that stand for bytes in the spellings of tokens.
#pragma once

#include <string>
#include <string_view>

namespace hearth::text::pipeline {

// The characters that stand for the bytes, in UTF-8, appended.
void append_byte_symbols(std::string& out, std::string_view bytes);
// Back; false where a character stands for no byte, and nothing is appended then.
bool append_bytes_of_symbols(std::string& out, std::string_view symbols);

}  // namespace hearth::text::pipeline
