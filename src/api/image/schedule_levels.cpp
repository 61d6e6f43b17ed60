#include "api/assets.h"
#include "api/places.h"
#include "core/error.h"
#include "hearth/hearth.h"
#include "hub/local_model.h"
#include "models/checkpoints.h"
#include "models/registry.h"
#include "sampling/compat/run_schedule.h"
#include "sampling/compat/sampler_names.h"
#include "sampling/samplers.h"
#include "weights/checkpoint.h"

namespace hearth {

std::vector<ScheduleLevels> schedule_levels(const std::filesystem::path& model, const std::string& sampler, int64_t steps) {
  const std::filesystem::path path = model.empty() ? api::demo_model_folder() : hub::local_model(model);
  const Checkpoint checkpoint = models::open_checkpoint(path, api::places_of(path));
  const sampling::SchedulerConfig own = models::find_family(checkpoint).family.scheduler(checkpoint);
  const sampling::Sampler& chosen = sampler.empty() ? sampling::sampler_of(own) : *sampling::read_sampler_name(sampler).sampler;
  std::vector<ScheduleLevels> all;
  for (const sampling::ScheduleName& s : sampling::schedule_names()) {
    ScheduleLevels levels{.name = std::string(s.name)};
    try {
      if (chosen.ends_itself) fail<UsageError>("sampler '{}' chooses its sigmas during the run", chosen.name);
      const sampling::RunSchedule run = sampling::run_schedule(own, chosen, {.name = levels.name}, steps);
      const sampling::Schedule plan = sampling::planned(chosen, run.levels, sampling::resolve_options(chosen, {}));
      for (const float v : plan.sigmas()) levels.sigmas.push_back(double(v));
      for (const float v : plan.timesteps()) levels.timesteps.push_back(double(v));
    } catch (const UsageError& e) { levels.refused = e.what(); } catch (const UnsupportedError& e) {
      levels.refused = e.what();
    }
    all.push_back(std::move(levels));
  }
  return all;
}

}  // namespace hearth
