// JSON that the library wrote goes into an object of the command as it is: it is not read for that.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace hearth::cli {

// One line: the object's keys, then `key`, whose value is the text of JSON.
std::string with_member(const nlohmann::ordered_json& object, std::string_view key, std::string_view json);

}  // namespace hearth::cli
