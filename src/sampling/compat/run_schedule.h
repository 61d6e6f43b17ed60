// The schedule of a run, from the request and the checkpoint's scheduler_config.json.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "sampling/compat/compat.h"
#include "sampling/sampler.h"
#include "sampling/schedules/schedule.h"

namespace hearth::sampling {

struct ScheduleRequest {
  Compat compat = Compat::hearth;
  std::string name = {};  // one of schedule_names(); "" is "default"
  ScheduleOptions options = {};
  Values sigmas = {};  // replaces a schedule
  bool drops_penultimate = false;
  bool common = false;  // use common_schedule for any sampler
  // Under a1111: names of published step tables, each with the table that it selects for this model.
  std::span<const std::pair<std::string_view, std::string_view>> step_tables = {};
  std::optional<FlowTable> flow = {};  // of a flow model in the program of `compat`: own_schedule
};

struct RunSchedule {
  Schedule levels;
  std::string name;  // canonical, with options: ScheduleChoice::text
};

// Under comfyui and a1111 the program's own schedule (own_schedule), else that of the checkpoint's config as the sampler uses it
// (config_for). "automatic" is the schedule recommended for the sampler. `own`: the config as the family's pipeline left it. UsageError and
// UnsupportedError as own_choice, own_schedule, find_schedule and make_schedule; UsageError if both sigmas and a schedule are given.
RunSchedule run_schedule(const SchedulerConfig& own, const Sampler& sampler, const ScheduleRequest& request, int64_t steps);

}  // namespace hearth::sampling
