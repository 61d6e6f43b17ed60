// The peak rates of this machine, measured now, which benchmarks are compared with.
#pragma once

#include "core/backend.h"

namespace hearth {

struct Ceilings {
  double matrix_gflops = 0;  // f32 multiply-adds of the backend's kernel path on all its threads, operands in registers
  double bf16_gflops = 0;    // products of bf16 factors; 0 if the kernel path has none
  double read_gbs = 0;       // reading uncached memory, all threads, 10⁹ bytes per second
  // Peak rate of products with these factors. Integers are compared with f32.
  double gflops(DType factors) const { return factors == DType::bf16 && bf16_gflops > 0 ? bf16_gflops : matrix_gflops; }
};

bool has_ceilings(const Backend& backend);  // whether it is the CPU backend

// The best of several short runs, about a third of a second in total, or (quick) less than a tenth and slightly less accurate.
// UnsupportedError unless has_ceilings(). Frees what it allocates.
enum class Effort { full, quick };
Ceilings measure_ceilings(Backend& backend, Effort effort = Effort::full);

}  // namespace hearth
