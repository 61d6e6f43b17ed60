// --debug, and what it shows to people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/flags.h"
#include "hearth/hearth.h"

namespace hearth::cli {

void add_debug(Flags& flags, Debug& debug);

// Tables of a report's "debug" part (hearth/hearth.h): the slowest first, with their share of the time; then the shapes.
std::string debug_text(const nlohmann::ordered_json& debug);

}  // namespace hearth::cli
