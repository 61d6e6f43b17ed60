// Python's numbers from text, and round().
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hearth::text::jinja {

// int(text, base): surrounding blanks, a sign, single underscores between digits, the prefix of the base (base 0: of any). nullopt if
// Python raises ValueError; Failure::overflow for more than 64 bits.
std::optional<int64_t> parse_integer(std::string_view text, int64_t base);
// float(text): also inf, infinity, nan in any case.
std::optional<double> parse_real(std::string_view text);

// round(value, digits): the nearest number of that many decimals, ties to even. digits ≥ 0.
double round_real(double value, int64_t digits);

}  // namespace hearth::text::jinja
