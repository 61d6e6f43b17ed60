// The config.json of a Zamba 2 checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::zamba2 {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' Zamba2Config.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::zamba2
