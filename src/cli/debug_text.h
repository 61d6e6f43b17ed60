// What --debug shows to people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hearth::cli {

// Tables of a report's "debug" part (hearth/hearth.h): the slowest first, with their share of the time; then the shapes.
std::string debug_text(const nlohmann::ordered_json& debug);

}  // namespace hearth::cli
