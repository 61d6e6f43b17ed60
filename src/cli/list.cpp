#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/flags.h"
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

void print(const std::vector<Named>& table) {
  size_t name_width = 0, alias_width = 0;
  for (const Named& n : table) {
    name_width = std::max(name_width, n.name.size());
    alias_width = std::max(alias_width, fmt::format("{}", fmt::join(n.aliases, ", ")).size());
  }
  for (const Named& n : table)
    fmt::print("  {:<{}}  {:<{}}  {}\n", n.name, name_width, fmt::format("{}", fmt::join(n.aliases, ", ")), alias_width, n.summary);
}

void run_list(std::span<const std::string> arguments) {
  std::string what;
  bool json = false;
  std::vector<std::string> names;
  for (const Kind& kind : kinds) names.emplace_back(kind.name);
  Flags flags("list", "Lists what this build knows: name, other names, what it is.");
  flags.choice("what", "", "Which list", what, {.names = names}, "all");
  flags.toggle("--json", "Print one JSON object on stdout: kind → [{name, aliases, summary}]", json);
  if (!flags.parse(arguments)) return;

  Json all = Json::object();
  for (const Kind& kind : kinds) {
    if (!what.empty() && what != kind.name) continue;
    if (json) {
      Json rows = Json::array();
      for (const Named& n : kind.table()) rows.push_back({{"name", n.name}, {"aliases", n.aliases}, {"summary", n.summary}});
      all[kind.name] = rows;
    } else {
      fmt::print("{}\n", kind.name);
      print(kind.table());
    }
  }
  if (json) fmt::print("{}\n", all.dump());
}

}  // namespace

const Command list = {"list", "list models, samplers, guidance, schedules, backends", run_list};

}  // namespace hearth::cli
