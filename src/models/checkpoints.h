// Checkpoints of image models, read with the file knowledge of all families of this build.
#pragma once

#include "weights/checkpoint.h"

namespace hearth::models {

// The families' tables, each once. `assets`: the folder of an installed hearth, whose configs/NAME holds a family's built-in
// configurations. If it does not exist or `assets` is empty, they are read from the family's folder of the source tree.
std::vector<KnownFamily> image_files(const std::filesystem::path& assets = {});

// Checkpoint::open; `places` without families.
Checkpoint open_checkpoint(const std::filesystem::path& path, CheckpointPlaces places = {});

// A network that replaces a checkpoint's own (weights/layout/given_component.h).
GivenComponent open_component(const std::filesystem::path& path, std::string_view component);

}  // namespace hearth::models
