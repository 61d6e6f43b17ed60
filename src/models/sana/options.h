// Options of this family (models/option.h).
#pragma once

#include <array>

#include "models/diffusion/size_options.h"
#include "models/prompt_options.h"

namespace hearth::models::sana {

inline constexpr Option max_sequence_length = max_sequence_length_option("300");
inline constexpr Option complex_human_instruction{
    .name = "complex_human_instruction",
    .type = Option::Type::text,
    .summary = "Text in front of the prompt, which asks the text encoder for a better prompt; empty: none",
    .standard = "the reference's",
    .after = "emphasis"};
inline constexpr Option clamp_attention{
    .name = "clamp_attention",
    .type = Option::Type::toggle,
    .summary =
        "Clamp the results of the self-attention to the range of float16, as the reference does in that type: for weights trained so",
    .standard = "off"};
inline constexpr std::array options{max_sequence_length, complex_human_instruction, diffusion::no_resolution_binning, clamp_attention};

}  // namespace hearth::models::sana
