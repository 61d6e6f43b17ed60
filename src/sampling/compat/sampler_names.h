// Names that combine a sampler and a schedule: A1111's before 1.9 ("DPM++ 2M Karras", internally "k_dpmpp_2m_ka"), Forge's ("Euler A
// SGMUniform"), InvokeAI's ("dpmpp_3m_k"), Draw Things' ("DPM++ 2M AYS"), stable-diffusion.cpp's ("ddim_trailing").
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sampling/sampler.h"

namespace hearth::sampling {

struct NamedSampler {
  const Sampler* sampler;
  std::string schedule = {};  // canonical; "" if the name has none
  Options options = {};       // of the sampler, implied by the name
};

// A name that find_sampler accepts, alone or followed by a schedule: one of schedule_names() or its aliases, or "k", "ka" (Karras), "exp".
// InvokeAI's dpmpp_3m is the multistep class of third order. Empty for any other name, including a schedule's alone.
std::optional<NamedSampler> known_sampler_name(std::string_view name);
// The same, but UsageError for an unknown name, as find_sampler.
NamedSampler read_sampler_name(std::string_view name);

// The same for a run that may also name a schedule. UsageError if the two schedules differ; "automatic" and "" defer to the sampler's name.
NamedSampler read_sampler_name(std::string_view name, std::string_view schedule);

}  // namespace hearth::sampling
