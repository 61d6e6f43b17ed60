// The config.json of a Qwen 2 checkpoint.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::qwen2 {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' Qwen2Config, or of
// Qwen2_5_VLTextConfig for the part of Qwen 2.5 VL that reads texts.
parts::DecoderConfig read_config(const Config& config);

}  // namespace hearth::models::qwen2
