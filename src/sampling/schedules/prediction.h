// Conversion between a network's prediction and x₀.
#pragma once

#include "core/tensor.h"
#include "sampling/compat/scheduler_config.h"
#include "sampling/schedules/path.h"

namespace hearth::sampling {

// What a network predicts, and σ_data, the standard deviation of x₀ that EDM and TrigFlow networks were trained for.
struct Parameterization {
  Parameterization(Prediction what, double deviation = 1) : prediction(what), sigma_data(deviation) {}
  Prediction prediction;
  double sigma_data;
};

// The network is called at c·x and outputs F. With x = α·x₀ + σ·noise, s = σ_data and r = √(α²s² + σ²), x₀ is
//   ε         c = 1/√(α² + σ²)   (x − σ·F)/α
//   sample    c = 1/√(α² + σ²)   F
//   v         c = 1/r            α·s²/r²·x − σ·s/r·F
//   EDM       c = 1/r            α·s²/r²·x + σ·s/r·F
//   flow      c = 1              x − σ·F                  (reverse flow: +)
//   TrigFlow  at the time τ = σ/(α + σ), with g = √(τ² + (1 − τ)²): c = g/s, (α − σ·(1 − 2τ))·x − σ·s·(1 − 2τ + 2τ²)/g·F
Tensor network_input(const Tensor& x, const Level& level, Parameterization parameters);
float network_time(const Level& level, Parameterization parameters);
Tensor x0_of(const Tensor& x, const Tensor& answer, const Level& level, Parameterization parameters);
// The inverse: the network's output from x and x̂₀.
Tensor network_output(const Tensor& x, const Tensor& x0, const Level& level, Parameterization parameters);

}  // namespace hearth::sampling
