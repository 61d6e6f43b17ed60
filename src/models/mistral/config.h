// The config.json of a Mistral checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::mistral {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' MistralConfig.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::mistral
