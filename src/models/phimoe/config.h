// The config.json of a Phi-3.5-MoE checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::phimoe {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' PhimoeConfig.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::phimoe
