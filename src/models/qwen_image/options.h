// Options of this family (models/option.h).
#pragma once

#include <array>

#include "models/prompt_options.h"

namespace hearth::models::qwen_image {

inline constexpr Option max_sequence_length = max_sequence_length_option("512", 1024);
inline constexpr std::array options{max_sequence_length};

}  // namespace hearth::models::qwen_image
