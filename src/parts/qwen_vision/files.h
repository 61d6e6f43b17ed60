// The vision tower of Qwen 2.5 VL in files of its own: llama.cpp's, beside its GGUF files of the language model ("mmproj").
#pragma once

#include "weights/layout/network_files.h"

namespace hearth::parts {

extern const NetworkFiles qwen_vision_files;  // layout "mmproj"; states its own configuration

}  // namespace hearth::parts
