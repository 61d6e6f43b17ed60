// A problem with a known solution, data from a unit Gaussian, which shows the orders of convergence of the samplers.
#pragma once

#include <optional>

#include "sampling/sampler.h"

namespace hearth::sampling {

// x̂₀ = α·x/(α² + σ²), the posterior mean of such data, which is also the unconditional estimate. The ODE with this denoiser keeps
// x/√(α² + σ²) constant.
Denoiser unit_gaussian();

// √(α² + σ²): the exact x at a level, for a start at that of the first level.
double gaussian_size(const Level& level);

// n steps from σ `first` down to `last`, short at both ends, so that neither the first steps of multistep samplers, which lack a history,
// nor last steps of lower order matter.
Schedule graded_schedule(const Path& path, double first, double last, int64_t n);

// Options under which the sampler draws no noise; nothing if it has no deterministic form.
std::optional<Options> deterministic_options(const Sampler& sampler);

struct KnownError {
  double error = 0;   // |x − exact| for a start at x = 1, in f64
  int64_t calls = 0;  // of the denoiser
};
// Runs the sampler's deterministic form on graded_schedule from σ 10 to 0.1 of an exploding path. UsageError if it has none.
KnownError known_error(const Sampler& sampler, Backend& device, int64_t n);

// Whether the sampler's deterministic form solves the ODE on any schedule in a given number of steps, so that it can be compared with
// others. CFG++ does not, nor do samplers with timesteps or steps of their own (plms, dpm_adaptive).
bool solves_the_ode(const Sampler& sampler);

}  // namespace hearth::sampling
