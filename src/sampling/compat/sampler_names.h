// Names that say a sampler and a schedule in one: A1111's before 1.9 ("DPM++ 2M Karras", internally "k_dpmpp_2m_ka"), Forge's ("Euler A
// SGMUniform"), InvokeAI's ("dpmpp_3m_k"), Draw Things' ("DPM++ 2M AYS"), stable-diffusion.cpp's ("ddim_trailing").
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sampling/sampler.h"

namespace hearth::sampling {

struct NamedSampler {
  const Sampler* sampler;
  std::string schedule = {};  // canonical; "" where the name says none
  Options options = {};       // of the sampler, that go with the name
};

// A name that find_sampler knows, alone or with a schedule's behind it: one of schedule_names() or its aliases, or "k", "ka" (Karras),
// "exp". InvokeAI's dpmpp_3m is the multistep class of third order. Nothing for any other, a schedule's name among them.
std::optional<NamedSampler> known_sampler_name(std::string_view name);
// The same. UsageError as find_sampler.
NamedSampler read_sampler_name(std::string_view name);

// The same for a run that may say a schedule beside it. UsageError where the two are not one; "automatic" and "" leave it to the name.
NamedSampler read_sampler_name(std::string_view name, std::string_view schedule);

}  // namespace hearth::sampling
