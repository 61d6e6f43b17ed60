#include "cli/written.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/log.h"

namespace hearth::cli {

void report_written(ProgressLine& line, const WrittenWeights& written, const std::string& output,
                    const std::vector<std::pair<std::string, std::string>>& own, bool json) {
  line.finish();
  for (const std::string& note : written.notes) log_info("note: " + note);
  if (json) {
    nlohmann::ordered_json object{{"output", output}};
    for (const auto& [key, value] : own) object[key] = value;
    object.update({{"tensors", written.tensors},
                   {"parameters", written.parameters},
                   {"bytes", written.bytes},
                   {"types", written.types},
                   {"notes", written.notes}});
    fmt::print("{}\n", object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return;
  }
  std::string types;
  for (const auto& [type, count] : written.types) types += fmt::format("{}{} {}", types.empty() ? "" : ", ", count, type);
  fmt::print("{}: {}, {} parameters in {} tensors ({}), {}\n", output, own.back().second, written.parameters, written.tensors, types,
             format_bytes(written.bytes));
}

}  // namespace hearth::cli
