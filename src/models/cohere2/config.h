// The config.json of a Command R7B checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::cohere2 {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' Cohere2Config.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::cohere2
