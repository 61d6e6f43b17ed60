// Random numbers as a function of (seed, position, stream): Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy
// as 1, 2, 3"). There is no state, so the number for the tenth token does not depend on how the nine before it were drawn.
#pragma once

#include <array>
#include <cstdint>

namespace hearth::sampling {

// The block of four words for a 128-bit counter and a 64-bit key, low words first.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// Uniform in [0, 1) in steps of 2⁻⁵³: the first two words of the block whose key is the seed and whose counter is
// (position, stream), each 64 bits.
double uniform_at(uint64_t seed, uint64_t position, uint64_t stream);

}  // namespace hearth::sampling
