#include "cli/sampler_flag.h"

#include <algorithm>

#include "cli/open_flags.h"
#include "cli/suggest.h"
#include "core/error.h"
#include "sampling/sampler_names.h"

namespace hearth::cli {

namespace {

// A sampler that begins so; else the nearest of all names, those with a schedule's behind them included.
std::string suggestion(const std::string& word) {
  Flags::Choice all = choice_of(list_samplers());
  std::vector<std::string>& names = all.names;
  names.insert(names.end(), all.aliases.begin(), all.aliases.end());
  const bool begins = std::ranges::any_of(names, [&](const std::string& name) { return name.starts_with(word); });
  if (begins) return did_you_mean(word, names);
  const size_t samplers = names.size();
  for (const Named& schedule : list_schedules())
    for (size_t i = 0; i < samplers; ++i) names.push_back(names[i] + " " + schedule.name);
  return did_you_mean(word, names);
}

}  // namespace

void add_sampler(Flags& flags, const std::string& help, std::string& sampler) {
  flags.add("--sampler", "NAME", help, "the checkpoint's own", [&sampler](const std::string& t) {
    if (!sampling::known_sampler_name(t))
      fail<UsageError>("'{}' is unknown; hearth list samplers has those that there are{}", t, suggestion(t));
    sampler = t;
  });
}

}  // namespace hearth::cli
