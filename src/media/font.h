// A bitmap font for labels: printable ASCII, 5 columns and 8 rows, the last row for descenders.
#pragma once

#include <cstdint>

namespace hearth {

constexpr int64_t glyph_columns = 5, glyph_rows = 8;

// Whether a pixel of a character's glyph is set. Characters without a glyph are shown as '?'.
bool glyph_pixel(char character, int64_t column, int64_t row);

}  // namespace hearth
