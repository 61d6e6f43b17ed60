#include "api/settings/names.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "core/text/suggest.h"
#include "sampling/compat/sampler_names.h"
#include "sampling/names.h"

namespace hearth::api {
namespace {

std::vector<std::string> names_and_aliases(const std::vector<Named>& table) {
  std::vector<std::string> all = names_of(table);
  for (const Named& entry : table) all.insert(all.end(), entry.aliases.begin(), entry.aliases.end());
  return all;
}

// Of any spelling.
void check_name(const std::string& name, const std::vector<Named>& table) {
  const std::vector<std::string> all = names_and_aliases(table);
  const auto meant = [folded = sampling::folded(name)](const std::string& known) { return sampling::folded(known) == folded; };
  if (!std::ranges::any_of(all, meant))
    fail<UsageError>("'{}' is unknown, expected one of {}{}", name, fmt::join(names_of(table), ", "), did_you_mean(name, all));
}

// Samplers that begin with `name`, else the nearest name, with a schedule or without.
std::string nearest_sampler(const std::string& name) {
  std::vector<std::string> names = names_and_aliases(list_samplers());
  const auto starts = [&](const std::string& known) { return known.starts_with(name); };
  if (std::ranges::any_of(names, starts)) return did_you_mean(name, names);
  const size_t samplers = names.size();
  for (const Named& schedule : list_schedules())
    for (size_t i = 0; i < samplers; ++i) names.push_back(names[i] + " " + schedule.name);
  return did_you_mean(name, names);
}

}  // namespace

void check_sampler(const std::string& name) {
  if (!sampling::known_sampler_name(name))
    fail<UsageError>("'{}' is unknown; hearth list samplers prints all names{}", name, nearest_sampler(name));
}
void check_schedule(const std::string& name) { check_name(name, list_schedules()); }
void check_guidance(const std::string& name) { check_name(name, list_guidance()); }

Embedding read_embedding(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == text.npos || std::filesystem::exists(text)) return {.file = text};
  if (equals == 0) fail<UsageError>("'{}' has no name, expected [NAME=]FILE", text);
  return {.file = text.substr(equals + 1), .name = text.substr(0, equals)};
}

std::vector<std::string> names_of(const std::vector<Named>& table) {
  std::vector<std::string> names;
  for (const Named& entry : table) names.push_back(entry.name);
  return names;
}

}  // namespace hearth::api
