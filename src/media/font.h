// A typeface of our own for labels: printable ASCII, 5 columns and 8 rows, the last of them for what hangs below the line.
#pragma once

#include <cstdint>

namespace hearth {

constexpr int64_t glyph_columns = 5, glyph_rows = 8;

// Whether the glyph of a character is inked there. Characters without a glyph show '?'.
bool glyph_inks(char character, int64_t column, int64_t row);

}  // namespace hearth
