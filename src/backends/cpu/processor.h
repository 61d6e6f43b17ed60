// Features of the CPU and the operating system, by CPUID feature bits (a hypervisor can mask model numbers).
#pragma once

namespace hearth::cpu {

bool processor_has_avx2();        // AVX2, FMA, F16C
bool processor_has_avxvnni();     // the above and AVX-VNNI: integer dot products
bool processor_has_avx512();      // AVX2, FMA, F16C and AVX-512 F, BW, VL, DQ
bool processor_has_avx512vnni();  // the above and AVX512-VNNI
bool processor_has_avx512bf16();  // AVX-512 as above and AVX512-BF16
// The above and AMX tiles with bf16 products. The first call requests the tiles from the system, once per process.
bool processor_has_amx();

}  // namespace hearth::cpu
