// Maps the public options to the paths of a checkpoint's components.
#pragma once

#include "hearth/hearth.h"
#include "weights/checkpoint.h"

namespace hearth::api {

// For Checkpoint::open(path, …). Looks for the assets only if `path` is a file, which needs them.
CheckpointPlaces places_of(const std::filesystem::path& path, const OpenOptions& options = {});

}  // namespace hearth::api
