// The config.json of a DeepSeek MoE checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::deepseek {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' DeepseekConfig.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::deepseek
