// The vision tower of Qwen 2.5 VL in a separate file. llama.cpp writes such files ("mmproj") in addition to that of the language model.
#pragma once

#include "weights/layout/network_files.h"

namespace hearth::parts {

extern const NetworkFiles qwen_vision_files;  // layout "mmproj"; states its own configuration

}  // namespace hearth::parts
