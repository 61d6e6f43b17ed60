#include "sampling/compat/run_schedule.h"

#include <algorithm>

#include "core/error.h"
#include "sampling/compat/scheduler_samplers.h"
#include "sampling/names.h"

namespace hearth::sampling {
namespace {

// The schedule that one of A1111's names selects for this model; a name that includes its table is unchanged.
std::string table_for(const ScheduleRequest& r) {
  const SigmaSchedule* found = find_sigma_schedule(r.name);
  if (!found || folded(r.name).ends_with("sd15")) return r.name;
  const auto table = std::ranges::find(r.step_tables, found->name, &std::pair<std::string_view, std::string_view>::first);
  return table == r.step_tables.end() ? r.name : std::string(table->second);
}

ScheduleChoice choice_of(const SchedulerConfig& own, const ScheduleRequest& r, const Sampler& sampler) {
  if (!r.sigmas.empty()) {
    if (!r.name.empty() || !r.options.empty()) fail<UsageError>("generate: both sigmas and a schedule, expected one of them");
    return given_sigmas(r.sigmas, own.prediction == Prediction::flow ? SigmaFamily::flow : SigmaFamily::exploding);
  }
  if (r.common) return find_schedule(r.name, r.options, Form::peers);
  if (has_own_schedule(r.compat, sampler))
    return own_choice(r.compat, sampler, r.compat == Compat::a1111 ? table_for(r) : r.name, r.options);
  const std::string name = folded(r.name) == "automatic" ? std::string(sampler.schedule) : r.name;
  return find_schedule(name.empty() ? "default" : name, r.options);
}

}  // namespace

RunSchedule run_schedule(const SchedulerConfig& own, const Sampler& sampler, const ScheduleRequest& r, int64_t steps) {
  ScheduleChoice choice = choice_of(own, r, sampler);
  choice.drops_penultimate = r.drops_penultimate;
  if (r.common) return {common_schedule(own, choice, steps), choice.text()};
  if (has_own_schedule(r.compat, sampler)) return {own_schedule(r.compat, own, sampler, choice, steps, r.flow), choice.text()};
  // Another sampler uses its own class's defaults for keys that the scheduler config omits, as in the reference.
  const SchedulerConfig config = config_for(sampler, own);
  const bool karras = choice.name == "default" && config.curve == Curve::karras;
  return {make_schedule(config, choice, steps), karras ? "karras" : choice.text()};
}

}  // namespace hearth::sampling
