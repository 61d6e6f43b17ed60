#include "sampling/compat/sampler_names.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/error.h"
#include "sampling/compat/scheduler_samplers.h"
#include "sampling/names.h"
#include "sampling/samplers.h"

namespace hearth::sampling {
namespace {

// A spelling and its meaning.
struct Spelling {
  std::string folded;
  NamedSampler meant;
};

const std::vector<Spelling>& samplers_alone() {
  static const std::vector<Spelling> all = [] {
    std::vector<Spelling> names{{folded("dpmpp_3m"), {&find_sampler("dpm_solver_multistep"), {}, {{"solver_order", 3}}}}};
    for (const Sampler& s : samplers()) {
      names.push_back({folded(s.name), {&s}});
      for (const std::string_view alias : s.aliases) names.push_back({folded(alias), {&s}});
    }
    return names;
  }();
  return all;
}

struct Ending {
  std::string folded;
  std::string schedule;
};

const std::vector<Ending>& endings() {
  static const std::vector<Ending> all = [] {
    std::vector<Ending> names{{"k", "karras"}, {"ka", "karras"}, {"exp", "exponential"}};
    for (const ScheduleName& s : schedule_names()) {
      names.push_back({folded(s.name), std::string(s.name)});
      for (const std::string_view alias : s.aliases) names.push_back({folded(alias), std::string(s.name)});
    }
    return names;
  }();
  return all;
}

std::string canonical_schedule(std::string_view name) {
  const std::string wanted = folded(name);
  const auto found = std::ranges::find(endings(), wanted, &Ending::folded);
  return found == endings().end() ? std::string(name) : found->schedule;
}

bool is_schedule(std::string_view folded_name) {
  return std::ranges::any_of(schedule_names(), [&](const ScheduleName& s) { return folded(s.name) == folded_name; });
}

}  // namespace

std::optional<NamedSampler> known_sampler_name(std::string_view name) {
  const std::string wanted = folded(name);
  const auto alone = [](std::string_view text) -> std::optional<NamedSampler> {
    const auto found = std::ranges::find(samplers_alone(), text, &Spelling::folded);
    if (found == samplers_alone().end()) return std::nullopt;
    return found->meant;
  };
  if (const auto sampler = alone(wanted)) return sampler;
  if (const std::string_view of_class = sampler_name_of_class(name); !of_class.empty()) return NamedSampler{&find_sampler(of_class)};
  if (is_schedule(wanted)) return std::nullopt;
  for (const Ending& ending : endings()) {
    if (!wanted.ends_with(ending.folded)) continue;
    auto both = alone(std::string_view(wanted).substr(0, wanted.size() - ending.folded.size()));
    if (!both) continue;
    both->schedule = ending.schedule;
    return both;
  }
  return std::nullopt;
}

NamedSampler read_sampler_name(std::string_view name) {
  if (const auto known = known_sampler_name(name)) return *known;
  if (is_schedule(folded(name))) fail<UsageError>("sampler '{}' is a schedule, expected a sampler", name);
  return {&find_sampler(name)};
}

NamedSampler read_sampler_name(std::string_view name, std::string_view schedule) {
  NamedSampler read = read_sampler_name(name);
  if (read.schedule.empty()) read.schedule = schedule;
  else if (!schedule.empty() && folded(schedule) != "automatic" && canonical_schedule(schedule) != read.schedule)
    fail<UsageError>("sampler '{}' includes the schedule {}, but the schedule is '{}', expected one of them", name, read.schedule,
                     schedule);
  return read;
}

}  // namespace hearth::sampling
