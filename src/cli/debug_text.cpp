#include "cli/debug_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string table(const Json& rows, const char* name) {
  std::vector<Json> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Json& a, const Json& b) { return a.at("seconds").get<double>() > b.at("seconds").get<double>(); });
  double total = 0;
  size_t width = std::string_view(name).size();
  for (const Json& row : sorted) {
    total += row.at("seconds").get<double>();
    width = std::max(width, row.at(name).get_ref<const std::string&>().size());
  }
  std::string text = fmt::format("{:<8} {:<{}} {:>8} {:>10} {:>6} {:>9}\n", "phase", name, width, "calls", "seconds", "share", "GFLOP/s");
  for (const Json& row : sorted) {
    const double seconds = row.at("seconds").get<double>(), gflop = row.value("gflop", 0.0);
    const std::string rate = gflop > 0 && seconds > 0 ? fmt::format("{:.1f}", gflop / seconds) : "";
    text += fmt::format("{:<8} {:<{}} {:>8} {:>10.4f} {:>5.1f}% {:>9}\n", row.at("phase").get_ref<const std::string&>(),
                        row.at(name).get_ref<const std::string&>(), width, row.at("calls").get<int64_t>(), seconds,
                        total > 0 ? 100 * seconds / total : 0, rate);
  }
  return text;
}

}  // namespace

std::string debug_text(const Json& debug) {
  std::string text;
  if (const auto timing = debug.find("timing"); timing != debug.end()) {
    text += table(timing->at("ops"), "op") + "\n";
    text += table(timing->at("blocks"), "block");
  }
  if (const auto shapes = debug.find("shapes"); shapes != debug.end())
    for (const Json& shape : *shapes) text += shape.get_ref<const std::string&>() + "\n";
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace hearth::cli
