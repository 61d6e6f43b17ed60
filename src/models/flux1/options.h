// Options of this family (models/option.h).
#pragma once

#include <array>

#include "models/clip/options.h"
#include "models/option.h"

namespace hearth::models::flux1 {

inline constexpr Option max_sequence_length{.name = "max_sequence_length",
                                            .type = Option::Type::integer,
                                            .summary = "Tokens of a prompt that the T5 encoder reads; shorter prompts are padded",
                                            .standard = "512, of schnell 256",
                                            .least = 1,
                                            .most = 512,
                                            .after = "emphasis"};
inline constexpr Option true_cfg_scale{
    .name = "true_cfg_scale",
    .type = Option::Type::number,
    .summary =
        "Scale of classifier-free guidance with a negative prompt, for models that receive the guidance scale as input; above 1 it "
        "doubles the time",
    .standard = "1, which is off",
    .after = "guidance"};

inline constexpr std::array options{clip::prompt_2, clip::negative_prompt_2, max_sequence_length, true_cfg_scale};

}  // namespace hearth::models::flux1
