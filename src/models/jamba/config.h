// The config.json of a Jamba checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::jamba {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' JambaConfig.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::jamba
