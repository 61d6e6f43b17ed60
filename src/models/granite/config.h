// The config.json of a Granite checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::granite {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' GraniteConfig.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::granite
