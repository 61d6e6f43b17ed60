#include "core/quantized/block_grids.h"

#include <bit>
#include <cstddef>
#include <string_view>

namespace hearth::blocks {
namespace {

#include "core/quantized/block_grids.inl"

// The points of a codebook (golden/make_grids.py), whose digits select from `values`.
template <class Entry, int count, size_t digits> constexpr Grid<Entry, count> grid_of(std::string_view gaps, const int (&values)[digits]) {
  Grid<Entry, count> grid{};
  size_t made = 0;
  uint64_t point = 0;
  for (const char c : gaps) {
    point += c == '+' ? 62u : uint64_t(c <= '9' ? c - '0' : c <= 'Z' ? c - 'A' + 10 : c - 'a' + 36);
    if (c == '+') continue;
    uint64_t left = point;
    for (size_t i = 0; i < sizeof(Entry); ++i, left /= digits) grid.entries[made] |= Entry(uint8_t(values[left % digits])) << (8 * i);
    ++made;
  }
  return grid;
}

constexpr Grid<uint8_t, 128> even_signs() {
  Grid<uint8_t, 128> signs{};
  for (unsigned i = 0; i < 128; ++i) signs.entries[i] = uint8_t(i | unsigned(std::popcount(i)) % 2 << 7);
  return signs;
}

constexpr int iq1_values[] = {-8, 0, 8}, iq2_values[] = {8, 25, 43}, iq3_xxs_values[] = {4, 12, 20, 28, 36, 44, 52, 62},
              iq3_s_values[] = {1, 3, 5, 7, 9, 11, 13, 15};

}  // namespace

constexpr Grid<uint64_t, 256> iq2_xxs_grid = grid_of<uint64_t, 256>(iq2_xxs_gaps, iq2_values);
constexpr Grid<uint64_t, 512> iq2_xs_grid = grid_of<uint64_t, 512>(iq2_xs_gaps, iq2_values);
constexpr Grid<uint64_t, 1024> iq2_s_grid = grid_of<uint64_t, 1024>(iq2_s_gaps, iq2_values);
constexpr Grid<uint64_t, 2048> iq1_grid = grid_of<uint64_t, 2048>(iq1_gaps, iq1_values);
constexpr Grid<uint32_t, 256> iq3_xxs_grid = grid_of<uint32_t, 256>(iq3_xxs_gaps, iq3_xxs_values);
constexpr Grid<uint32_t, 512> iq3_s_grid = grid_of<uint32_t, 512>(iq3_s_gaps, iq3_s_values);
constexpr Grid<uint8_t, 128> iq_signs = even_signs();

}  // namespace hearth::blocks
