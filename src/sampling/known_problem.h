// A problem whose solution is known: data from a unit Gaussian, on which the orders of the samplers show.
#pragma once

#include <optional>

#include "sampling/sampler.h"

namespace hearth::sampling {

// x̂₀ = α·x/(α² + σ²), the posterior mean of such data, which is also the estimate without prompt. The ODE that follows it keeps
// x/√(α² + σ²).
Denoiser unit_gaussian();

// √(α² + σ²): what the exact x is at a level, where it began as that of its first level.
double gaussian_size(const Level& level);

// n steps from σ `first` down to `last`, short at both ends: the first steps of multistep samplers, which have no history yet, and last
// ones of lower order are too short to matter.
Schedule graded_schedule(const Path& path, double first, double last, int64_t n);

// The options under which the sampler draws no noise; nothing where it cannot do without.
std::optional<Options> deterministic_options(const Sampler& sampler);

struct KnownError {
  double error = 0;   // |x − exact|, where x began as 1, in f64
  int64_t calls = 0;  // of the denoiser
};
// The deterministic form of the sampler on graded_schedule from σ 10 to 0.1 of an exploding path. UsageError for a sampler without one.
KnownError known_error(const Sampler& sampler, Backend& device, int64_t n);

// Whether the sampler's deterministic form solves the ODE of any levels in a number of steps that is given: then it can be compared with
// others. Not so CFG++, and samplers with timesteps or steps of their own (plms, dpm_adaptive).
bool solves_the_ode(const Sampler& sampler);

}  // namespace hearth::sampling
