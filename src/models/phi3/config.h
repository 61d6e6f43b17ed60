// The config.json of a Phi 3 checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::phi3 {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' Phi3Config.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::phi3
