#include <fmt/format.h>

#include "backends/backends.h"
#include "hearth/hearth.h"
#include "models/registry.h"
#include "sampling/compat/scheduler_samplers.h"
#include "sampling/samplers.h"

namespace hearth {
namespace {

// The names in a checkpoint's configuration that identify a family.
std::vector<std::string> names_of(const models::ImageFamily& f) { return {f.pipelines.begin(), f.pipelines.end()}; }
std::vector<std::string> names_of(const models::LanguageFamily& f) { return {f.model_types.begin(), f.model_types.end()}; }

// A sampler's aliases, and the diffusers classes that it corresponds to.
std::vector<std::string> names_of(const sampling::Sampler& s) {
  std::vector<std::string> names(s.aliases.begin(), s.aliases.end());
  for (const sampling::SchedulerClass c : sampling::scheduler_classes())
    if (const std::string_view name = sampling::name_of(c); sampling::sampler_name_of_class(name) == s.name) names.emplace_back(name);
  return names;
}

}  // namespace

std::vector<Named> list_models() {
  std::vector<Named> list;
  for (const models::Entry& e : models::entries())
    list.push_back({std::string(e.name), std::visit([](const auto& family) { return names_of(family); }, e.task), std::string(e.summary)});
  return list;
}

std::vector<Named> list_samplers() {
  std::vector<Named> list;
  for (const sampling::Sampler& s : sampling::samplers()) list.push_back({std::string(s.name), names_of(s), std::string(s.summary)});
  return list;
}

std::vector<Named> list_guidance() {
  std::vector<Named> list;
  for (const sampling::GuidanceMethod& m : sampling::guidance_methods()) {
    std::string summary(m.summary), separator = "; options: ";
    for (const sampling::Option& o : m.own_options()) {
      summary += fmt::format("{}{} {}", separator, o.name, sampling::text_of(o, o.standard));
      separator = ", ";
    }
    list.push_back({std::string(m.name), {m.aliases.begin(), m.aliases.end()}, std::move(summary)});
  }
  return list;
}

std::vector<SamplerInfo> describe_samplers() {
  constexpr const char* noise[] = {"never", "on request", "always"};
  std::vector<SamplerInfo> list;
  for (const sampling::Sampler& s : sampling::samplers()) {
    SamplerInfo info{{std::string(s.name), names_of(s), std::string(s.summary)}};
    info.order = s.order;
    info.calls = s.calls;
    info.noise = noise[size_t(s.draws)];
    info.schedule = s.schedule;
    info.needs_unconditional = s.needs_unconditional;
    for (const sampling::Option& o : s.options)
      info.options.push_back({std::string(o.name),
                              std::string(o.summary),
                              sampling::text_of(o, o.standard),
                              o.least,
                              o.most,
                              {o.choices.begin(), o.choices.end()}});
    list.push_back(std::move(info));
  }
  return list;
}

std::vector<Named> list_schedules() {
  std::vector<Named> list;
  for (const sampling::ScheduleName& s : sampling::schedule_names())
    list.push_back({std::string(s.name), {s.aliases.begin(), s.aliases.end()}, std::string(s.summary)});
  return list;
}

std::vector<Named> list_backends() {
  std::vector<Named> list;
  for (const BackendInfo& b : available_backends()) list.push_back({b.name, b.features, b.description});
  return list;
}

std::vector<std::string> list_devices() { return device_names(); }

Named chosen_device(const std::string& name) {
  const BackendInfo b = chosen_backend(name);
  return {b.name, b.features, b.description};
}

}  // namespace hearth
