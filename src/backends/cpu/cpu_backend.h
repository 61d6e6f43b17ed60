// The fast backend for x86-64: kernels for AVX2 and AVX-512, chosen at run time by CPUID.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/backend.h"

namespace hearth {

// `features`: "avx2", "avx512", "avx512bf16" or "amx" selects a kernel path; "" means $HEARTH_CPU, or else the best. `threads` as in
// ThreadPool. UsageError for another name, UnsupportedError for a path that this CPU does not support.
std::unique_ptr<Backend> make_cpu_backend(const std::string& features, int threads);

// For tests: AVX2 kernels with AMX's bf16 tiles emulated by plain loops, so that the code around the tiles runs on any CPU.
std::unique_ptr<Backend> make_emulating_cpu_backend(int threads);

std::vector<std::string> cpu_paths();  // that this CPU supports, best first
bool cpu_path_available(const std::string& features);

}  // namespace hearth
