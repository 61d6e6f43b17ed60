// What a run of a checkpoint takes where the request says nothing, for menus.
#pragma once

#include "hearth/hearth.h"

namespace hearth::api {

struct ImageDefaults {
  std::optional<std::array<int64_t, 2>> size;  // [width, height] in pixels; none: the checkpoint has no native size
  int64_t side_unit = 8;                       // sides are multiples of it
  int64_t steps = 0;
  double guidance = 0;
  std::string sampler;  // canonical name
};

// As Model::open(path, options) would find them. Reads configuration files only; errors of finding the family and of its configurations.
ImageDefaults image_defaults(const std::filesystem::path& path, const OpenOptions& options = {});

}  // namespace hearth::api
