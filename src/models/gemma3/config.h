// The config.json of a Gemma 3 checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::gemma3 {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' Gemma3TextConfig.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::gemma3
