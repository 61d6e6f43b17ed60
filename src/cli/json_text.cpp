#include "cli/json_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace hearth::cli {

std::string with_member(const nlohmann::ordered_json& object, std::string_view key, std::string_view json) {
  std::string text = object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.pop_back();
  return fmt::format("{}{}{}:{}}}", text, object.empty() ? "" : ",", nlohmann::ordered_json(key).dump(), json);
}

}  // namespace hearth::cli
