// How a product is divided among invocations (shaders/tile.glsl).
#pragma once

#include <cstdint>

namespace hearth::vulkan {

struct Tile {
  uint32_t across, below;          // invocations side by side, and below each other
  uint32_t own_rows, own_columns;  // of an invocation, multiples of 4

  uint32_t invocations() const { return across * below; }
  int64_t rows() const { return int64_t(below) * own_rows; }
  int64_t columns() const { return int64_t(across) * own_columns; }
};

// Products of up to this many rows have their own shader, shaders/few_rows.comp.
inline constexpr int64_t most_few_rows = 4;

// Flat and narrow products have such tiles: little is multiplied for rows and columns that are not there.
inline Tile wide_tile(int64_t rows) { return rows <= 16 ? Tile{16, 4, 4, 4} : Tile{16, 8, 8, 4}; }
inline Tile tile_of(int64_t rows, int64_t columns) { return rows > 16 && columns <= 16 ? Tile{4, 16, 8, 4} : wide_tile(rows); }

}  // namespace hearth::vulkan
