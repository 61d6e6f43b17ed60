// The levels of a run as a request and the checkpoint's file together say them.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "sampling/compat/compat.h"
#include "sampling/sampler.h"
#include "sampling/schedules/schedule.h"

namespace hearth::sampling {

struct ScheduleRequest {
  Compat compat = Compat::hearth;
  std::string name = {};  // as schedule_names(); "" is "default"
  ScheduleOptions options = {};
  Values sigmas = {};  // in place of a schedule
  bool drops_penultimate = false;
  bool common = false;  // common_schedule, whatever the sampler
  // Under a1111: schedules that stand for published tables, and those that they mean with this model.
  std::span<const std::pair<std::string_view, std::string_view>> step_tables = {};
};

struct RunSchedule {
  Schedule levels;
  std::string name;  // the schedule's, canonical and with its options: ScheduleChoice::text
};

// Under comfyui and a1111 the program's own levels (own_schedule), else those of the checkpoint's file as the sampler takes it
// (config_for); "automatic" is the schedule that goes with the sampler. `own`: the file as the family's pipeline leaves it. UsageError,
// UnsupportedError as own_choice, own_schedule, find_schedule and make_schedule; UsageError for sigmas and a schedule.
RunSchedule run_schedule(const SchedulerConfig& own, const Sampler& sampler, const ScheduleRequest& request, int64_t steps);

}  // namespace hearth::sampling
