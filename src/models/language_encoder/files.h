// Language models in the files of image models: their names with and without the prefix of a model with a head or one that sees images,
// and GGUF files, which state their own configuration.
#pragma once

#include "weights/layout/network_files.h"

namespace hearth::models::language_encoder {

extern const NetworkFiles files;

}  // namespace hearth::models::language_encoder
