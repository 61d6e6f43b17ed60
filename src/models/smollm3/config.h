// The config.json of a SmolLM3 checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::smollm3 {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' SmolLM3Config.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::smollm3
