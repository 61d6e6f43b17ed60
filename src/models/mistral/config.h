// What the config.json of a Mistral checkpoint says.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::mistral {

// Every key is read, declared to have no effect, or refused by name. Defaults are those of transformers' MistralConfig.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::mistral
