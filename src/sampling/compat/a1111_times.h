// The schedules of A1111's samplers that do not run on a schedule over all timesteps: DDIM, DDIM CFG++, PLMS, UniPC and LCM.
#pragma once

#include <vector>

#include "sampling/compat/partial.h"
#include "sampling/sampler.h"

namespace hearth::sampling {

// DDIM and PLMS take every (1000 / n)-th timestep from 1 on, each at most 999, and step from one to the one below. They stop at timestep 1
// instead of at the image, with one denoiser call less than there are timesteps. If n does not divide 1000, there are more than n.
// UniPC takes n evenly spaced times from 1 to 0.001, between which ln α is linear, and stops at the last. The noise table is the
// checkpoint's; α² + σ² = 1. UsageError for fewer than two times (UniPC: three) and for more than the table has entries.
Schedule a1111_time_schedule(const SchedulerConfig& config, const Sampler& sampler, int64_t n);

// UniPC for image-to-image, on the first `times` of the timesteps that n steps make (rest_by_times in partial.h covers DDIM and PLMS).
// Noise is added for the timestep after them; as many evenly spaced times lead from the last of them to 0.001. `whole` is the full
// schedule. UsageError if fewer than three times are left.
Rest a1111_even_rest(const Schedule& whole, int64_t n, int64_t times);

// The noise levels that A1111's LCM treats as the model's: every 20th of 1000 timesteps, 19, 39 … 999. A σ between two of them takes the
// timestep that is nearer in ln σ.
struct DistilledLevels {
  std::vector<float> sigmas;  // increasing
  float timestep_of(double sigma) const;
};
// UnsupportedError for a table of another length, and for a network that does not predict ε, which that sampler assumes.
DistilledLevels a1111_distilled_levels(const NoiseTable& table, Prediction prediction);

}  // namespace hearth::sampling
