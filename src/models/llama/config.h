// The config.json of a Llama checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::llama {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' LlamaConfig.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::llama
