#include "backends/cpu/processor.h"

#include <cpuid.h>

namespace hearth::cpu {
namespace {

struct Features {
  bool avx2 = false, avx512 = false;
  Features() {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return;
    const auto bit = [](unsigned word, int n) { return (word >> n & 1) != 0; };
    const bool fma = bit(c, 12), saves = bit(c, 27), avx = bit(c, 28), f16c = bit(c, 29);
    if (!fma || !saves || !avx || !f16c || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
    unsigned enabled, high;  // XCR0: the registers that the operating system saves
    asm volatile("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
    avx2 = bit(b, 5) && (enabled & 0x06) == 0x06;
    avx512 = avx2 && bit(b, 16) && bit(b, 17) && bit(b, 30) && bit(b, 31) && (enabled & 0xe6) == 0xe6;
  }
};

const Features& features() {
  static const Features found;
  return found;
}

}  // namespace

bool processor_has_avx2() { return features().avx2; }
bool processor_has_avx512() { return features().avx512; }

}  // namespace hearth::cpu
