// The results of `Debug` as human-readable text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hearth::api {

// Tables of DebugObserver::report(): slowest rows first, with their share of the time; then the shapes. Empty if there are neither.
std::string debug_text(const nlohmann::json& debug);

}  // namespace hearth::api
