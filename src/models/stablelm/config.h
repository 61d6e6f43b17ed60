// The config.json of a StableLM checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::stablelm {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' StableLmConfig.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::stablelm
