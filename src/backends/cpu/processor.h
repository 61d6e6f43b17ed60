// What the processor and the operating system offer, by CPUID feature bits (model numbers can be masked by a hypervisor).
#pragma once

namespace hearth::cpu {

bool processor_has_avx2();        // AVX2, FMA, F16C
bool processor_has_avxvnni();     // those and AVX-VNNI: integer dot products
bool processor_has_avx512();      // AVX2, FMA, F16C and AVX-512 F, BW, VL, DQ
bool processor_has_avx512vnni();  // those and AVX512-VNNI
bool processor_has_avx512bf16();  // AVX-512 as above and AVX512-BF16
// Those and AMX tiles with bf16 products. The first call asks the system for the tiles, once for the process.
bool processor_has_amx();

}  // namespace hearth::cpu
