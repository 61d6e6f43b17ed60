// What the processor and the operating system offer, by CPUID feature bits (model numbers can be masked by a hypervisor).
#pragma once

namespace hearth::cpu {

bool processor_has_avx2();    // AVX2, FMA, F16C
bool processor_has_avx512();  // those and AVX-512 F, BW, VL, DQ

}  // namespace hearth::cpu
