// Which sampler a diffusers scheduler class stands for, and under which class's configuration a sampler runs.
#pragma once

#include "sampling/sampler.h"

namespace hearth::sampling {

// The canonical name of the sampler that a scheduler's file stands for.
std::string_view sampler_name_of(const SchedulerConfig& config);
// The same of a class with its defaults, by the class's name with or without "Scheduler"; empty for another name.
std::string_view sampler_name_of_class(std::string_view name);

// Whether the sampler does what the class does, on the class's levels and with the options of its file.
bool stands_for(const Sampler& sampler, SchedulerClass scheduler);

// `own` as the sampler takes it: as it is where the sampler stands for its class, otherwise under the class that the sampler goes with.
SchedulerConfig config_for(const Sampler& sampler, const SchedulerConfig& own);

}  // namespace hearth::sampling
