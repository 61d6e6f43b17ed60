#include "backends/cpu/processor.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hearth::cpu {
namespace {

// Linux grants a process the 8 KiB of tile registers only on request (arch_prctl, ARCH_REQ_XCOMP_PERM for XTILEDATA).
bool tiles_granted() {
  constexpr int request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

struct Features {
  bool avx2 = false, avxvnni = false, avx512 = false, avx512vnni = false, avx512bf16 = false, amx = false;
  Features() {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return;
    const auto bit = [](unsigned word, int n) { return (word >> n & 1) != 0; };
    const bool fma = bit(c, 12), saves = bit(c, 27), avx = bit(c, 28), f16c = bit(c, 29);
    if (!fma || !saves || !avx || !f16c || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
    unsigned enabled, high;  // XCR0: the register state that the operating system saves
    asm volatile("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
    avx2 = bit(b, 5) && (enabled & 0x06) == 0x06;
    avx512 = avx2 && bit(b, 16) && bit(b, 17) && bit(b, 30) && bit(b, 31) && (enabled & 0xe6) == 0xe6;
    avx512vnni = avx512 && bit(c, 11);
    const bool tiles = bit(d, 22) && bit(d, 24) && (enabled & 0x60000) == 0x60000;  // AMX-BF16, AMX-TILE
    if (!__get_cpuid_count(7, 1, &a, &b, &c, &d)) return;
    avxvnni = avx2 && bit(a, 4);
    avx512bf16 = avx512 && bit(a, 5);
    amx = avx512bf16 && tiles && tiles_granted();
  }
};

const Features& features() {
  static const Features found;
  return found;
}

}  // namespace

bool processor_has_avx2() { return features().avx2; }
bool processor_has_avxvnni() { return features().avxvnni; }
bool processor_has_avx512() { return features().avx512; }
bool processor_has_avx512vnni() { return features().avx512vnni; }
bool processor_has_avx512bf16() { return features().avx512bf16; }
bool processor_has_amx() { return features().amx; }

}  // namespace hearth::cpu
