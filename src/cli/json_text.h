// Puts JSON text of the library into an object of the command, without parsing it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace hearth::cli {

// One line: the object's keys, then `key` with `json`, which is JSON text.
std::string with_member(const nlohmann::ordered_json& object, std::string_view key, std::string_view json);

}  // namespace hearth::cli
