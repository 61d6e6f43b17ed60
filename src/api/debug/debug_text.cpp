#include "api/debug/debug_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace hearth::api {
namespace {

using Json = nlohmann::json;

std::string number(const Json& row, const char* name) {
  const auto found = row.find(name);
  return found == row.end() ? "" : fmt::format("{:.1f}", found->get<double>());
}

std::string table(const Json& rows, const char* name) {
  std::vector<Json> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Json& a, const Json& b) { return a.at("seconds").get<double>() > b.at("seconds").get<double>(); });
  const bool nested = !sorted.empty() && sorted.front().contains("whole_seconds");
  double total = 0;
  size_t width = std::string_view(name).size();
  for (const Json& row : sorted) {
    total += row.at("seconds").get<double>();
    width = std::max(width, row.at(name).get_ref<const std::string&>().size());
  }
  const auto line = [&](const auto& phase, const auto& what, const auto& calls, const auto& seconds, const auto& share, const auto& other,
                        const auto& rate, const auto& fraction) {
    return fmt::format("{:<8} {:<{}} {:>8} {:>10} {:>6} {:>10} {:>9} {:>10}\n", phase, what, width, calls, seconds, share, other, rate,
                       fraction);
  };
  std::string text = line("phase", name, "calls", "seconds", "share", nested ? "whole" : "GB/s", "GFLOP/s", "of ceiling");
  for (const Json& row : sorted) {
    const double seconds = row.at("seconds").get<double>(), gflop = row.value("gflop", 0.0), fraction = row.value("fraction", 0.0);
    text +=
        line(row.at("phase").get_ref<const std::string&>(), row.at(name).get_ref<const std::string&>(), row.at("calls").get<int64_t>(),
             fmt::format("{:.4f}", seconds), fmt::format("{:.1f}%", total > 0 ? 100 * seconds / total : 0),
             nested ? fmt::format("{:.4f}", row.at("whole_seconds").get<double>()) : number(row, "gbs"),
             gflop > 0 && seconds > 0 ? fmt::format("{:.1f}", gflop / seconds) : "", fraction > 0 ? fmt::format("{:.2f}", fraction) : "");
  }
  return text;
}

std::string timing_text(const Json& timing) {
  std::string text;
  if (const auto c = timing.find("ceilings"); c != timing.end()) {
    text += "ceilings, measured now: " + number(*c, "matrix_gflops") + " GFLOP/s";
    if (c->value("bf16_gflops", 0.0) > 0) text += ", of bf16 factors " + number(*c, "bf16_gflops");
    text += ", reads " + number(*c, "read_gbs") + " GB/s\n";
  }
  if (const auto phases = timing.find("phases"); phases != timing.end()) {
    text += "wall seconds:";
    for (const Json& phase : *phases)
      text += fmt::format(" {} {:.4f}", phase.at("phase").get_ref<const std::string&>(), phase.at("wall_seconds").get<double>());
    text += "; in each table the rows of a phase add up to these\n";
  }
  return text + table(timing.at("ops"), "op") + "\n" + table(timing.at("blocks"), "block");
}

}  // namespace

std::string debug_text(const Json& debug) {
  std::string text;
  if (const auto timing = debug.find("timing"); timing != debug.end()) text += timing_text(*timing);
  if (const auto shapes = debug.find("shapes"); shapes != debug.end())
    for (const Json& shape : *shapes) text += shape.get_ref<const std::string&>() + "\n";
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace hearth::api
