// Options of families whose prompts are encoded by T5.
#pragma once

#include "models/prompt_options.h"

namespace hearth::models::t5 {

using models::max_sequence_length_option;

}  // namespace hearth::models::t5
