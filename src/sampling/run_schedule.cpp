#include "sampling/run_schedule.h"

#include "core/error.h"
#include "sampling/names.h"
#include "sampling/scheduler_samplers.h"

namespace hearth::sampling {
namespace {

// Of A1111's schedules whose tables follow the model.
std::string for_xl(const std::string& name) {
  const SigmaSchedule* found = find_sigma_schedule(name);
  if (!found || folded(name).ends_with("sd15")) return name;
  if (found->name == "ays" || found->name == "ays_11") return "ays_sdxl";
  if (found->name == "ays_32") return "ays_32_sdxl";
  if (found->name == "gits" || found->name == "gits_a1111") return "gits_sdxl";
  return name;
}

ScheduleChoice choice_of(const ScheduleRequest& r, const Sampler& sampler) {
  if (!r.sigmas.empty()) {
    if (!r.name.empty() || !r.options.empty()) fail<UsageError>("generate: sigmas and a schedule, needed one of them");
    return given_sigmas(r.sigmas, SigmaFamily::exploding);
  }
  if (r.common) return find_schedule(r.name, r.options, Form::peers);
  if (has_own_schedule(r.compat, sampler))
    return own_choice(r.compat, sampler, r.compat == Compat::a1111 && r.xl ? for_xl(r.name) : r.name, r.options);
  const std::string name = folded(r.name) == "automatic" ? std::string(sampler.schedule) : r.name;
  return find_schedule(name.empty() ? "default" : name, r.options);
}

}  // namespace

RunSchedule run_schedule(const SchedulerConfig& own, const Sampler& sampler, const ScheduleRequest& r, int64_t steps) {
  ScheduleChoice choice = choice_of(r, sampler);
  choice.drops_penultimate = r.drops_penultimate;
  if (r.common) return {common_schedule(own, choice, steps), choice.text()};
  if (has_own_schedule(r.compat, sampler)) return {own_schedule(r.compat, own, sampler, choice, steps), choice.text()};
  // Another sampler takes its own class's defaults for what the scheduler's file omits, as in the reference.
  const SchedulerConfig config = config_for(sampler, own);
  const bool karras = choice.name == "default" && config.curve == Curve::karras;
  return {make_schedule(config, choice, steps), karras ? "karras" : choice.text()};
}

}  // namespace hearth::sampling
