// Options of this family (models/option.h).
#pragma once

#include <array>

#include "models/clip/options.h"
#include "models/flux1/redux.h"
#include "models/t5/options.h"

namespace hearth::models::flux1 {

inline constexpr Option max_sequence_length = t5::max_sequence_length_option("512, of schnell 256");
inline constexpr Option true_cfg_scale{
    .name = "true_cfg_scale",
    .type = Option::Type::number,
    .summary =
        "Scale of classifier-free guidance with a negative prompt, for models that receive the guidance scale as input; above 1 it "
        "doubles the time",
    .standard = "1, which is off",
    .after = "guidance"};

inline constexpr std::array options{clip::prompt_2, clip::negative_prompt_2, max_sequence_length, true_cfg_scale,
                                    redux_scale,    redux_pooled_scale};

}  // namespace hearth::models::flux1
