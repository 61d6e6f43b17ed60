// The config.json of a gpt-oss checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::gpt_oss {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' GptOssConfig.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::gpt_oss
