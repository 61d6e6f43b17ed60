// What this machine can do at best, measured now: what benchmarks are compared with.
#pragma once

#include "core/backend.h"

namespace hearth {

struct Ceilings {
  double matrix_gflops = 0;  // f32 multiply-adds of the backend's kernel path on all its threads, operands in registers
  double bf16_gflops = 0;    // products of bf16 factors; 0 where the kernel path has none
  double read_gbs = 0;       // reading memory that lies in no cache, all threads, 10⁹ bytes per second
};

// Best of several short runs, together about a third of a second. UnsupportedError unless `backend` is the CPU backend.
Ceilings measure_ceilings(Backend& backend);

}  // namespace hearth
