// The sizes of a UNet2DConditionModel, read from its tensors or from a config.json: equal if they belong together.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "weights/layout/network_files.h"

namespace hearth::parts {

struct UnetGeometry {
  struct Level {
    int64_t channels = 0;
    std::vector<int64_t> depths_down;  // transformer blocks after each residual block in the down path; 0 without attention
    std::vector<int64_t> depths_up;    // the same in the up path, one more
  };
  int64_t in_channels = 0, out_channels = 0;
  std::vector<Level> levels;
  int64_t mid_resnets = 0, mid_depth = 0;
  int64_t context = 0, label = 0;  // widths of the text states and of the added or class embedding; 0: none
  bool linear_projection = false;  // proj_in is a matrix; false without attention

  Geometry compared() const;
  std::string describe() const;  // "channels 320, 640, 1280, 1280; context 768; 4 in, 4 out"
};

// From tensors by official names. Missing ones count as 0.
UnetGeometry geometry_of(const TensorList& official);
// From a config.json; missing keys have the reference's defaults. Malformed values count as their default, because the network's own
// reader rejects them.
UnetGeometry geometry_of(const nlohmann::json& config);

}  // namespace hearth::parts
