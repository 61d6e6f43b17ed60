#include "sampling/tokens/counter_random.h"

#include "core/philox.h"

namespace hearth::sampling {

double uniform_at(uint64_t seed, uint64_t position, uint64_t stream) {
  const auto block = philox4x32({uint32_t(position), uint32_t(position >> 32), uint32_t(stream), uint32_t(stream >> 32)},
                                {uint32_t(seed), uint32_t(seed >> 32)});
  return double((uint64_t(block[1]) << 32 | block[0]) >> 11) * 0x1p-53;
}

}  // namespace hearth::sampling
