// Options of this family (models/option.h).
#pragma once

#include <array>

#include "models/prompt_options.h"

namespace hearth::models::flux2 {

inline constexpr Option max_sequence_length = max_sequence_length_option("512");
inline constexpr std::array options{max_sequence_length};

}  // namespace hearth::models::flux2
