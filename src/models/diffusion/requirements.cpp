#include "models/diffusion/requirements.h"

#include <algorithm>

#include "core/error.h"

namespace hearth::models::diffusion {

std::vector<std::string> require_known(const Checkpoint& checkpoint, const KnownComponents& known) {
  const auto contains = [](std::span<const std::string_view> names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  std::vector<std::string> notes;
  for (const Component& c : checkpoint.components()) {
    if (contains(known.used, c.name) || (known.takes_added && checkpoint.is_added(c.name))) continue;
    if (!contains(known.ignored, c.name))
      fail<UnsupportedError>("{}: the component '{}' ({}) is not supported", checkpoint.root().string(), c.name, c.class_name);
    notes.push_back(fmt::format("the component '{}' ({}) is not used", c.name, c.class_name));
  }
  return notes;
}

void require_rgb(int64_t in_channels, int64_t out_channels, const std::string& where) {
  if (in_channels != 3 || out_channels != 3)
    fail<UnsupportedError>("{}: the autoencoder has {} input and {} output channels, expected 3 (RGB)", where, in_channels, out_channels);
}

sampling::SchedulerConfig even_flow_scheduler(const Checkpoint& checkpoint) {
  sampling::SchedulerConfig c =
      sampling::SchedulerConfig::read(checkpoint.config("scheduler"), checkpoint.component("scheduler").class_name);
  if (c.prediction != sampling::Prediction::flow)
    fail<UnsupportedError>("{}: {} is not supported, expected a scheduler of flow models", checkpoint.place_of("scheduler"),
                           name_of(c.scheduler));
  c.even_times = true;
  return c;
}

}  // namespace hearth::models::diffusion
