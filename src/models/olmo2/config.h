// The config.json of a OLMo 2 checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::olmo2 {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' Olmo2Config.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::olmo2
