// The levels of A1111's samplers that do not take a schedule on all timesteps: DDIM, DDIM CFG++, PLMS, UniPC and LCM.
#pragma once

#include <vector>

#include "sampling/compat/partial.h"
#include "sampling/sampler.h"

namespace hearth::sampling {

// DDIM and PLMS take every (1000 / n)-th timestep from 1 on, each at most 999, and step from one to the one below: to timestep 1, not to
// the image, with one call less than there are times. Where n does not divide 1000 there are more of them than n. UniPC takes as many
// even times from 1 to 0.001, between which ln α is linear, and ends at the last. The noise table is the checkpoint's; α² + σ² = 1.
// UsageError for fewer times than two (UniPC: three) and more than the table has.
Schedule a1111_time_schedule(const SchedulerConfig& config, const Sampler& sampler, int64_t n);

// UniPC on the way, on the first `times` of the timesteps that n steps make (partial.h: rest_by_times has DDIM's and PLMS'): noise is added
// for the timestep after them, and so many even times lead from the last of them to 0.001. `whole` is the schedule of all.
// UsageError where fewer than three are left.
Rest a1111_even_rest(const Schedule& whole, int64_t n, int64_t times);

// What A1111's LCM takes for all levels that the network knows: every 20th of 1000 timesteps, 19, 39 … 999. A σ between two of them has
// the time of the nearer in ln σ.
struct DistilledLevels {
  std::vector<float> sigmas;  // increasing
  float timestep_of(double sigma) const;
};
// UnsupportedError for a table of another length, and for a network that does not answer ε, which that sampler takes its answer for.
DistilledLevels a1111_distilled_levels(const NoiseTable& table, Prediction prediction);

}  // namespace hearth::sampling
