// Which sampler implements a diffusers scheduler class, and under which class's configuration a sampler runs.
#pragma once

#include "sampling/sampler.h"

namespace hearth::sampling {

// The canonical name of the sampler that implements the class of a scheduler config.
std::string_view sampler_name_of(const SchedulerConfig& config);
// The same for a class with its defaults, by the class's name with or without "Scheduler"; empty for an unknown name.
std::string_view sampler_name_of_class(std::string_view name);

// Whether the sampler implements the class, with the class's schedule and the options of its file.
bool stands_for(const Sampler& sampler, SchedulerClass scheduler);

// `own` as the sampler uses it: unchanged if the sampler implements its class, otherwise under the class that the sampler names.
SchedulerConfig config_for(const Sampler& sampler, const SchedulerConfig& own);

}  // namespace hearth::sampling
