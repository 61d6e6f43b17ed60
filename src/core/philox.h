// Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"): random words as a function of a counter and
// a key. There is no state, so a number does not depend on how earlier ones were drawn.
#pragma once

#include <array>
#include <cstdint>

namespace hearth {

// The block of four words for a 128-bit counter and a 64-bit key, low words first.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

}  // namespace hearth
