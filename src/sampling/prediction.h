// From what a network answers to x₀ and back.
#pragma once

#include "core/tensor.h"
#include "sampling/path.h"
#include "sampling/scheduler_config.h"

namespace hearth::sampling {

// x = α·x₀ + σ·noise; s = √(α² + σ²).
//   ε  (x − σ·ε)/α      v  α/s²·x − σ/s·v      sample  as it is
Tensor x0_of(const Tensor& x, const Tensor& answer, const Level& level, Prediction prediction);
// What the network answered, told back from x and x̂₀:
//   ε  (x − α·x₀)/σ     v  α/(s·σ)·x − s/σ·x₀  sample  as it is
Tensor network_answer(const Tensor& x, const Tensor& x0, const Level& level, Prediction prediction);

}  // namespace hearth::sampling
