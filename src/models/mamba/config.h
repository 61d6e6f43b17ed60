// The config.json of a Mamba or Falcon Mamba checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::mamba {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' MambaConfig.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::mamba
