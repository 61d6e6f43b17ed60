#include "api/assets.h"
#include "api/places.h"
#include "core/error.h"
#include "hearth/hearth.h"
#include "sampling/samplers.h"
#include "sampling/scheduler_samplers.h"
#include "weights/checkpoint.h"

namespace hearth {

std::vector<ScheduleLevels> schedule_levels(const std::filesystem::path& model, const std::string& sampler, int64_t steps) {
  const std::filesystem::path path = model.empty() ? api::demo_model_folder() : model;
  const Checkpoint checkpoint = Checkpoint::open(path, api::places_of(path));
  const auto own =
      sampling::SchedulerConfig::read(checkpoint.config("scheduler"), checkpoint.component("scheduler").class_name).in_stable_diffusion();
  const sampling::Sampler& chosen = sampler.empty() ? sampling::sampler_of(own) : sampling::find_sampler(sampler);
  const sampling::SchedulerConfig config = sampling::config_for(chosen, own);
  std::vector<ScheduleLevels> all;
  for (const sampling::ScheduleName& s : sampling::schedule_names()) {
    ScheduleLevels levels{.name = std::string(s.name)};
    try {
      const auto choice = sampling::find_schedule(s.name == "automatic" ? chosen.schedule : s.name);
      const sampling::Schedule schedule = sampling::make_schedule(config, choice, steps);
      for (const float v : schedule.sigmas()) levels.sigmas.push_back(double(v));
      for (const float v : schedule.timesteps()) levels.timesteps.push_back(double(v));
    } catch (const UsageError& e) { levels.refused = e.what(); } catch (const UnsupportedError& e) {
      levels.refused = e.what();
    }
    all.push_back(std::move(levels));
  }
  return all;
}

}  // namespace hearth
