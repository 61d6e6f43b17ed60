// Random numbers as a function of (seed, position, stream), by Philox4x32-10 (core/philox.h). There is no state, so the number
// for the tenth token does not depend on how the first nine were drawn.
#pragma once

#include <cstdint>

namespace hearth::sampling {

// Uniform in [0, 1) in steps of 2⁻⁵³: the first two words of the block whose key is the seed and whose counter is
// (position, stream), each 64 bits.
double uniform_at(uint64_t seed, uint64_t position, uint64_t stream);

}  // namespace hearth::sampling
