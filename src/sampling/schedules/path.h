// Noise levels of a network, as a curve that a run follows.
#pragma once

#include <limits>
#include <memory>

#include "sampling/schedules/noise_table.h"

namespace hearth::sampling {

// One noise level, x = alpha·x₀ + sigma·noise, and the timestep that the network receives there.
struct Level {
  double alpha = 1;
  double sigma = 0;
  float timestep = 0;

  static Level exploding(double sigma, float timestep) { return {1, sigma, timestep}; }
  static Level preserving(double sigma, float timestep);        // from the same σ, divided by √(1 + σ²)
  static Level of_alpha_bar(double alpha_bar, float timestep);  // preserving, from ᾱ
  static Level flow(double sigma, float timestep) { return {1 - sigma, sigma, timestep}; }
};

double lambda(const Level& level);  // ln(α/σ), half the log of the signal-to-noise ratio; +∞ at σ = 0, −∞ at α = 0

// exploding   alpha = 1               networks that predict ε, v or x₀, as σ-samplers see them
// preserving  alpha² + sigma² = 1     the same networks as diffusers' DDIM family sees them
// flow        alpha = 1 − sigma       rectified flow
enum class Family { exploding, preserving, flow };

// The timestep at a σ between the levels of a schedule.
enum class Times {
  proportional,  // multiplier·σ
  reversed,      // multiplier·(1 − σ)
  table,         // the timestep of σ in the table, linear in ln σ between the entries
  nearest,       // the same, rounded to the nearer entry
  quarter_log,   // ln(σ)/4
};

// The curve itself. σ-samplers query it for levels between those of the schedule. Their coordinate σ is sigma/alpha on exploding and
// preserving paths and sigma on flow paths.
struct Path {
  Family family = Family::exploding;
  Times times = Times::proportional;
  double multiplier = 1;
  std::shared_ptr<const NoiseTable> table;  // of Times::table and nearest
  double shift = 1;                         // of flow paths: σ = shift·t/(1 + (shift − 1)·t) on the model's own times t from 1 to 0
  double sigma_min = 0, sigma_max = 0;      // of exploding paths without a table: its ends

  Level at(double sigma) const;
  Level at_lambda(double lambda) const;  // the level with ln(α/σ) = lambda
  // The σ at this fraction of the model's own schedule: 0 is all noise, 1 none. (ComfyUI's "percent".)
  double sigma_at(double part) const;
  double coordinate(const Level& level) const { return family == Family::flow ? level.sigma : level.sigma / level.alpha; }
};

}  // namespace hearth::sampling
