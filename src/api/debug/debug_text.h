// What was gathered for `Debug`, as people read it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hearth::api {

// Tables of DebugObserver::report(): the slowest first, with their share of the time; then the shapes. Empty without either.
std::string debug_text(const nlohmann::json& debug);

}  // namespace hearth::api
