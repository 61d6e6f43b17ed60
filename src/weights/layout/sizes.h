// Sizes of a network, from its tensors and from its config.json: for NetworkFiles::geometry and stated_geometry.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "weights/layout/name_map.h"

namespace hearth {

// The size of an axis of a tensor. 0 if there is no such tensor, or if it has fewer axes.
int64_t axis_of(const TensorList& tensors, const std::string& name, int axis);
// The integer that a config.json states. `otherwise` if it is no object, or states no integer there.
int64_t stated_integer(const nlohmann::json& config, const char* key, int64_t otherwise);

}  // namespace hearth
