// The config.json of a Command R checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::cohere {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' CohereConfig.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::cohere
