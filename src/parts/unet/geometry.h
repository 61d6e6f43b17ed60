// The sizes of a UNet2DConditionModel as its tensors show them and as a config.json states them: equal where the one is the other's.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "weights/layout/network_files.h"

namespace hearth::parts {

struct UnetGeometry {
  struct Level {
    int64_t channels = 0;
    std::vector<int64_t> depths_down;  // transformer blocks behind each residual block on the way down; 0 where nothing attends
    std::vector<int64_t> depths_up;    // the same on the way up, one more
  };
  int64_t in_channels = 0, out_channels = 0;
  std::vector<Level> levels;
  int64_t mid_resnets = 0, mid_depth = 0;
  int64_t context = 0, label = 0;  // widths of the text states and of the added or class embedding; 0: none
  bool linear_projection = false;  // proj_in is a matrix; false where nothing attends

  Geometry compared() const;
  std::string describe() const;  // "channels 320, 640, 1280, 1280; context 768; 4 in, 4 out"
};

// By official names. What is not there counts as 0.
UnetGeometry geometry_of(const TensorList& official);
// Of a config.json; keys that are not there have the reference's defaults. Malformed values count as their default: the network's own
// reader refuses them.
UnetGeometry geometry_of(const nlohmann::json& config);

}  // namespace hearth::parts
