// The levels of a run as each diffusers class makes them; make_schedule (schedule.h) picks. n steps, of what fits the class.
#pragma once

#include "sampling/schedules/schedule.h"

namespace hearth::sampling {

// Classes that run on a list of σ, on the noise table of the config. If `curve` (schedule.h) gives the σ, they are used unchanged.
bool has_sigma_levels(SchedulerClass c);
void sigma_levels(Schedule& schedule, const SchedulerConfig& config, const NoiseTable& table, const ScheduleChoice& choice, int64_t n);

// Classes that run on timesteps, each with its own rule for where a step ends.
bool has_alpha_levels(SchedulerClass c);
void alpha_levels(Schedule& schedule, const SchedulerConfig& config, const NoiseTable& table, int64_t n);

// Flow classes.
void flow_levels(Schedule& schedule, const SchedulerConfig& config, const ScheduleChoice& choice, int64_t n);

// EDM, SCM, IPNDM and Wuerstchen: schedules without a noise table.
void edm_levels(Schedule& schedule, const SchedulerConfig& config, const ScheduleChoice& choice, int64_t n);
void trigflow_levels(Schedule& schedule, const SchedulerConfig& config, int64_t n);
void ipndm_levels(Schedule& schedule, int64_t n);
void wuerstchen_levels(Schedule& schedule, const SchedulerConfig& config, int64_t n);

// Steps from one σ to the next, f32 as in the classes; `timesteps` has one value less. `level` makes a Level of the two.
using MakeLevel = Level (*)(double sigma, float timestep);
std::vector<Step> steps_along(const Values& sigmas, const Values& timesteps, MakeLevel level);

// Karras', exponential or beta σ between two endpoints, as the classes' use_*_sigmas compute them: n values, without 0.
Values curved(Curve curve, double sigma_min, double sigma_max, int64_t n, double rho = 7);

}  // namespace hearth::sampling
