// What this machine can do at best, measured now: what benchmarks are compared with.
#pragma once

#include "core/backend.h"

namespace hearth {

struct Ceilings {
  double matrix_gflops = 0;  // f32 multiply-adds of the backend's kernel path on all its threads, operands in registers
  double bf16_gflops = 0;    // products of bf16 factors; 0 where the kernel path has none
  double read_gbs = 0;       // reading memory that lies in no cache, all threads, 10⁹ bytes per second
  // Of products of such factors. Integers are compared with f32.
  double gflops(DType factors) const { return factors == DType::bf16 && bf16_gflops > 0 ? bf16_gflops : matrix_gflops; }
};

bool has_ceilings(const Backend& backend);  // whether it is the CPU backend

// Best of several short runs, together about a third of a second, or (quick) less than a tenth and a little less sure. UnsupportedError
// unless has_ceilings(). What was allocated meanwhile is given back.
enum class Effort { full, quick };
Ceilings measure_ceilings(Backend& backend, Effort effort = Effort::full);

}  // namespace hearth
