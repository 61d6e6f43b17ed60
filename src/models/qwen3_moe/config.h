// The config.json of a Qwen 3 MoE checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::qwen3_moe {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' Qwen3MoeConfig.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::qwen3_moe
