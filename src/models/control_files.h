// Files of what belongs to a run: control networks and IP-Adapters, of any layout.
#pragma once

#include <functional>

#include "weights/layout/given_component.h"

namespace hearth::models {

// The control network in a file or folder. WeightError if it holds none; errors of open_given.
GivenComponent open_control_network(const std::filesystem::path& path);

// The IP-Adapter in a file. Errors as above.
GivenComponent open_ip_adapter(const std::filesystem::path& path);

// WeightError that names the families whose models the network is for, unless `family` is one of them, or has no control networks at all.
void require_control_for(std::string_view family, const GivenComponent& network);

// The published name of the first built-in configuration, of any family, whose component has a config.json that `fits`. Empty if none
// does.
std::string published_with(std::string_view component, const std::function<bool(const nlohmann::json& config)>& fits);

}  // namespace hearth::models
