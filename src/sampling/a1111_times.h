// The levels of A1111's samplers that go by time and know no schedule: DDIM, DDIM CFG++, PLMS and UniPC.
#pragma once

#include "sampling/sampler.h"

namespace hearth::sampling {

// DDIM and PLMS take every (1000 / n)-th timestep from 1 on, each at most 999, and step from one to the one below: to timestep 1, not to
// the picture, with one call less than there are times. Where n does not divide 1000 there are more of them than n. UniPC takes as many
// even times from 1 to 0.001, between which ln α is linear, and ends at the last. The noise table is the checkpoint's; α² + σ² = 1.
// UsageError for fewer times than two (UniPC: three) and more than the table has.
Schedule a1111_time_schedule(const SchedulerConfig& config, const Sampler& sampler, int64_t n);

}  // namespace hearth::sampling
