// UTF-8 as far as text chunks need it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hearth {

// The code points; none where the bytes are not well-formed UTF-8 (Unicode 15, table 3-7: no surrogates, no overlong forms).
std::optional<std::u32string> decode_utf8(std::string_view bytes);

std::string encode_utf8(std::u32string_view code_points);

}  // namespace hearth
