// Checkpoints of image models, read with what all families of this build know of files.
#pragma once

#include "weights/checkpoint.h"

namespace hearth::models {

// The families' tables, each once. `assets`: the folder of an installed hearth, whose configs/NAME holds a family's built-in
// configurations; where that is not there (or `assets` is empty), they are looked for in the family's folder of the source tree.
std::vector<KnownFamily> image_files(const std::filesystem::path& assets = {});

// Checkpoint::open; `places` without families.
Checkpoint open_checkpoint(const std::filesystem::path& path, CheckpointPlaces places = {});

// A network in place of a checkpoint's own (weights/layout/given_component.h).
GivenComponent open_component(const std::filesystem::path& path, std::string_view component);

}  // namespace hearth::models
