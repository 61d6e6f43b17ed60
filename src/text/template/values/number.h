// Python's numbers from text, and round().
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hearth::text::jinja {

// int(text): blanks around, a sign, single underscores between digits. Nothing where Python raises ValueError; Failure::overflow for more
// than 64 bits.
std::optional<int64_t> parse_integer(std::string_view text);
// float(text): also inf, infinity, nan in any case.
std::optional<double> parse_real(std::string_view text);

// round(value, digits): the nearest number of that many decimals, ties to even. digits ≥ 0.
double round_real(double value, int64_t digits);

}  // namespace hearth::text::jinja
