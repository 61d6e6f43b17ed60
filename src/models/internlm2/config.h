// The config.json of a InternLM2 checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::internlm2 {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' InternLM2Config (its remote
// code).
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::internlm2
