// The config.json of a GLM-4 checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::glm {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' GlmConfig.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::glm
