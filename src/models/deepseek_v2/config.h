// The config.json of a DeepSeek V2 or V3 checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::deepseek_v2 {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' DeepseekV2Config and
// DeepseekV3Config.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::deepseek_v2
