#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/setting_flags.h"
#include "core/error.h"
#include "core/values.h"
#include "hearth/hearth.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Kind {
  const char* name;
  std::vector<Named> (*table)();
};
constexpr Kind kinds[] = {{"models", list_models},
                          {"samplers", list_samplers},
                          {"guidance", list_guidance},
                          {"schedules", list_schedules},
                          {"backends", list_backends}};

// Other names below the line of what they are names of, as many to a line as fit 100 columns.
void print_aliases(const std::vector<std::string>& aliases) {
  std::string line;
  for (const std::string& alias : aliases) {
    if (line.size() + alias.size() > 90) {
      fmt::print("{},\n", line);
      line.clear();
    }
    line += (line.empty() ? aliases.data() == &alias ? "      also " : "           " : ", ") + alias;
  }
  if (!line.empty()) fmt::print("{}\n", line);
}

void print(const std::vector<Named>& table) {
  size_t name_width = 0;
  for (const Named& n : table) name_width = std::max(name_width, n.name.size());
  for (const Named& n : table) {
    fmt::print("  {:<{}}  {}\n", n.name, name_width, n.summary);
    if (n.aliases != std::vector<std::string>{n.name}) print_aliases(n.aliases);
  }
}

Json json_of(const SamplerInfo& s) {
  Json options = Json::array();
  for (const OptionInfo& o : s.options) {
    Json option = {{"name", o.name}, {"summary", o.summary}, {"default", o.standard}};
    if (o.choices.empty()) option["least"] = o.least, option["most"] = std::isfinite(o.most) ? Json(o.most) : Json();
    else option["choices"] = o.choices;
    options.push_back(option);
  }
  return {{"name", s.name},    {"aliases", s.aliases}, {"summary", s.summary},   {"order", s.order},
          {"calls", s.calls},  {"noise", s.noise},     {"schedule", s.schedule}, {"needs_unconditional", s.needs_unconditional},
          {"options", options}};
}

// One line each, and below it other names and options with their defaults.
void print_samplers() {
  const std::vector<SamplerInfo> samplers = describe_samplers();
  size_t name_width = 0, calls_width = 0;
  for (const SamplerInfo& s : samplers)
    name_width = std::max(name_width, s.name.size()), calls_width = std::max(calls_width, s.calls.size());
  fmt::print("  {:<{}}  order  {:<{}}  noise       schedule     what it is\n", "name", name_width, "calls", calls_width);
  for (const SamplerInfo& s : samplers) {
    fmt::print("  {:<{}}  {:<5}  {:<{}}  {:<10}  {:<11}  {}\n", s.name, name_width, s.order, s.calls, calls_width, s.noise, s.schedule,
               s.summary);
    print_aliases(s.aliases);
    for (const OptionInfo& o : s.options)
      fmt::print("      --sampler-opt {}={}  {}{}\n", o.name, o.standard, o.summary,
                 o.choices.empty() ? "" : fmt::format(": {}", fmt::join(o.choices, " or ")));
  }
  fmt::print(
      "  A schedule may stand behind any of these names: \"DPM++ 2M Karras\", dpmpp_2m_karras; k and ka are Karras', exp is exponential\n");
}

std::string joined(const std::vector<double>& values) {
  std::string text;
  for (const double v : values) text += fmt::format("{}{:.4f}", text.empty() ? "" : " ", v);
  return text;
}

void print_levels(const std::vector<ScheduleLevels>& all, bool json) {
  if (json) {
    Json rows = Json::array();
    for (const ScheduleLevels& l : all)
      rows.push_back({{"name", l.name}, {"sigmas", l.sigmas}, {"timesteps", l.timesteps}, {"refused", l.refused}});
    fmt::print("{}\n", Json{{"schedules", rows}}.dump());
    return;
  }
  for (const ScheduleLevels& l : all) {
    fmt::print("{}\n", l.name);
    if (!l.refused.empty()) fmt::print("  refused: {}\n", l.refused);
    else fmt::print("  sigmas     {}\n  timesteps  {}\n", joined(l.sigmas), joined(l.timesteps));
  }
}

void run_list(std::span<const std::string> arguments) {
  std::string what;
  bool json = false;
  std::vector<std::string> names;
  for (const Kind& kind : kinds) names.emplace_back(kind.name);
  Flags flags("list", "Lists what this build knows: name, other names, what it is.");
  flags.choice("what", "", "Which list", what, {.names = names}, "all");
  flags.toggle(
      "--json",
      "Print one JSON object on stdout: kind → [{name, aliases, summary}], of samplers also order, calls, noise, schedule, options", json);
  int64_t steps = 0;
  std::string model;
  Request request;
  flags.add("--steps", "N", "With schedules: the noise levels and times of so many steps", "names alone",
            [&](const std::string& t) { steps = parse_integer(t, 1, 100000); });
  flags.path("-m,--model", "With --steps: the checkpoint", model, "the demo model");
  add_setting(flags, request, "sampler", {.help = "With --steps: the sampler"});
  if (!flags.parse(arguments)) return;
  if (steps > 0) {
    if (what != "schedules") fail<UsageError>("--steps: goes with 'hearth list schedules'");
    return print_levels(schedule_levels(model, request.sampler, steps), json);
  }
  if (!model.empty() || !request.sampler.empty()) fail<UsageError>("{}: goes with --steps", model.empty() ? "--sampler" : "--model");

  Json all = Json::object();
  for (const Kind& kind : kinds) {
    if (!what.empty() && what != kind.name) continue;
    if (json && kind.table == list_samplers) {
      for (const SamplerInfo& s : describe_samplers()) all[kind.name].push_back(json_of(s));
    } else if (json) {
      Json rows = Json::array();
      for (const Named& n : kind.table()) rows.push_back({{"name", n.name}, {"aliases", n.aliases}, {"summary", n.summary}});
      all[kind.name] = rows;
    } else {
      fmt::print("{}\n", kind.name);
      if (kind.table == list_samplers) print_samplers();
      else print(kind.table());
    }
  }
  if (json) fmt::print("{}\n", all.dump());
}

}  // namespace

const Command list = {"list", "list models, samplers, guidance, schedules, backends", run_list};

}  // namespace hearth::cli
