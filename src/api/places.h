// What the public options say of a checkpoint's parts.
#pragma once

#include "hearth/hearth.h"
#include "weights/checkpoint.h"

namespace hearth::api {

// For Checkpoint::open(path, …). The assets are looked for where the path is a file, which needs them.
CheckpointPlaces places_of(const std::filesystem::path& path, const OpenOptions& options = {});

}  // namespace hearth::api
