// The codebooks of GGUF's IQ types: the values that several weights have together. The kernels of every instruction set include this file:
// as in kernels.h, nothing here may define a function.
#pragma once

#include <cstdint>

namespace hearth::blocks {

template <class Entry, int count> struct Grid { Entry entries[count]; };

// Entries of eight values, one per byte, the first in the lowest. Those of iq1_s and iq1_m are −8, 0 and 8 (signed bytes), others positive.
extern const Grid<uint64_t, 256> iq2_xxs_grid;
extern const Grid<uint64_t, 512> iq2_xs_grid;
extern const Grid<uint64_t, 1024> iq2_s_grid;
extern const Grid<uint64_t, 2048> iq1_grid;
// The same of four values.
extern const Grid<uint32_t, 256> iq3_xxs_grid;
extern const Grid<uint32_t, 512> iq3_s_grid;
// Signs of eight values by a 7-bit index: bit j is set if value j is negative. Their number is even.
extern const Grid<uint8_t, 128> iq_signs;

}  // namespace hearth::blocks
