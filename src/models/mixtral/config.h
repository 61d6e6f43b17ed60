// The config.json of a Mixtral checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::mixtral {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' MixtralConfig.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::mixtral
