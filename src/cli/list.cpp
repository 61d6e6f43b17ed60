#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/open_flags.h"
#include "cli/setting_flags.h"
#include "core/error.h"
#include "core/text/values.h"
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

// Prints aliases below the name, in lines of up to 100 columns.
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
    if (o.choices.empty()) {
      option["minimum"] = option["least"] = o.least;  // "least", "most" and "calls": the names before 0.2
      option["maximum"] = option["most"] = std::isfinite(o.most) ? Json(o.most) : Json();
    } else {
      option["choices"] = o.choices;
    }
    options.push_back(option);
  }
  return {{"name", s.name},    {"aliases", s.aliases},   {"summary", s.summary},
          {"order", s.order},  {"evaluations", s.calls}, {"calls", s.calls},
          {"noise", s.noise},  {"schedule", s.schedule}, {"needs_unconditional", s.needs_unconditional},
          {"options", options}};
}

// Prints a line for each sampler, followed by its aliases and options with their defaults.
void print_samplers() {
  const std::vector<SamplerInfo> samplers = describe_samplers();
  size_t name_width = 0, calls_width = std::string_view("evaluations").size();
  for (const SamplerInfo& s : samplers)
    name_width = std::max(name_width, s.name.size()), calls_width = std::max(calls_width, s.calls.size());
  fmt::print("  {:<{}}  order  {:<{}}  noise       schedule     description\n", "name", name_width, "evaluations", calls_width);
  for (const SamplerInfo& s : samplers) {
    fmt::print("  {:<{}}  {:<5}  {:<{}}  {:<10}  {:<11}  {}\n", s.name, name_width, s.order, s.calls, calls_width, s.noise, s.schedule,
               s.summary);
    print_aliases(s.aliases);
    for (const OptionInfo& o : s.options)
      fmt::print("      --sampler-opt {}={}  {}{}\n", o.name, o.standard, o.summary,
                 o.choices.empty() ? "" : fmt::format(": {}", fmt::join(o.choices, " or ")));
  }
  fmt::print(
      "  evaluations: denoiser calls in n steps. A schedule may follow any of these names: \"DPM++ 2M Karras\", dpmpp_2m_karras; k and ka\n"
      "  stand for karras, exp for exponential.\n");
}

std::string joined(const std::vector<double>& values) {
  std::string text;
  for (const double v : values) text += fmt::format("{}{:.4f}", text.empty() ? "" : " ", v);
  return text;
}

void print_noise_levels(const std::vector<ScheduleLevels>& all, bool json) {
  if (json) {
    Json rows = Json::array();
    for (const ScheduleLevels& l : all)
      rows.push_back(
          {{"name", l.name}, {"sigmas", l.sigmas}, {"timesteps", l.timesteps}, {"unsupported", l.refused}, {"refused", l.refused}});
    fmt::print("{}\n", Json{{"schedules", rows}}.dump());
    return;
  }
  for (const ScheduleLevels& l : all) {
    fmt::print("{}\n", l.name);
    if (!l.refused.empty()) fmt::print("  not supported: {}\n", l.refused);
    else fmt::print("  sigmas     {}\n  timesteps  {}\n", joined(l.sigmas), joined(l.timesteps));
  }
}

void run_list(std::span<const std::string> arguments) {
  std::string what;
  bool json = false;
  std::vector<std::string> names;
  for (const Kind& kind : kinds) names.emplace_back(kind.name);
  Flags flags("list", "List what this build supports: models, samplers, guidance methods, schedules, backends, with their other names.");
  flags.choice("what", "KIND", "What to list: models, samplers, guidance, schedules or backends", what, {.names = names}, "all");
  add_json(flags, "kind → [{name, aliases, summary}], of samplers also order, evaluations, noise, schedule and options", json);
  int64_t steps = 0;
  std::string model;
  Request request;
  flags.group("Model");
  flags.path("-m,--model", "With --steps: checkpoint whose noise levels are listed", model, "the demo model");
  flags.group("Sampling");
  flags.add("--steps", "N", "With schedules: list the noise levels and timesteps of a run with this many steps", "names only",
            [&](const std::string& t) { steps = parse_integer(t, 1, 100000); });
  add_setting(flags, request, "sampler", {.help = "With --steps: sampler of that run"});
  flags.example("hearth list samplers", "Samplers, their aliases and options");
  flags.example("hearth list schedules --steps 10 -m stable-diffusion-v1-5", "The noise levels of each schedule");
  if (!flags.parse(arguments)) return;
  if (steps > 0) {
    if (what != "schedules") fail<UsageError>("--steps: has no effect here, expected hearth list schedules --steps N");
    return print_noise_levels(schedule_levels(model, request.sampler, steps), json);
  }
  if (!model.empty() || !request.sampler.empty())
    fail<UsageError>("{}: has no effect without --steps", model.empty() ? "--sampler" : "--model");

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

const Command list = {"list", "List models, samplers, guidance methods, schedules and backends", run_list, "Models"};

}  // namespace hearth::cli
