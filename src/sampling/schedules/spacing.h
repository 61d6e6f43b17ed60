// Training timesteps of a run's steps: Lin et al. 2023 (arXiv 2305.08891), table 2, in numpy's arithmetic. Largest first.
#pragma once

#include "sampling/schedules/noise_table.h"

namespace hearth::sampling {

// As numpy.linspace, in f64; the last value is `to` itself.
Values linspace(double from, double to, int64_t n);

Values rounded(Values values);  // half to even
Values whole_part(Values values);
Values as_f32(Values values);

// n timesteps as Euler, DDIM and related classes space them; `linspace` gives fractions.
Values spaced_timesteps(const SchedulerConfig& config, int64_t n);

// n timesteps as DPM-Solver and related classes space them: over n + 1 points, the last of which is dropped, and only those with
// ln(α/σ) ≥ lambda_min_clipped. Integers.
Values spaced_over_one_more(const SchedulerConfig& config, const NoiseTable& table, int64_t n);

}  // namespace hearth::sampling
