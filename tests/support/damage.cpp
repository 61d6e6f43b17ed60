#include "support/damage.h"

#include <algorithm>
#include <cstdlib>

namespace hearth::test {

int fuzz_rounds() {
  const char* factor = std::getenv("HEARTH_FUZZ_ROUNDS");
  return factor ? std::max(1, std::atoi(factor)) : 1;
}

void Damage::apply(std::string& bytes, size_t at) {
  switch (below(5)) {
    case 0: bytes.resize(at); break;
    case 1: bytes.insert(at, bytes.substr(below(bytes.size()), below(64))); break;
    case 2: bytes.erase(at, 1 + below(16)); break;
    case 3:
      if (at < bytes.size()) bytes[at] = char(bytes[at] ^ (1 << below(8)));
      break;
    default: put(bytes, at, below(2) == 0 ? uint64_t(1) << below(64) : ~uint64_t(0) >> below(64), 8);
  }
}

void Damage::put(std::string& bytes, size_t at, uint64_t value, size_t size) {
  for (size_t i = 0; i < size && at + i < bytes.size(); ++i) bytes[at + i] = char(value >> (8 * i));
}

}  // namespace hearth::test
