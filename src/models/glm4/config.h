// The config.json of a GLM-4-0414 checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::glm4 {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' Glm4Config.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::glm4
