// Options that only this family has (models/option.h).
#pragma once

#include <array>

#include "models/flux1/redux.h"
#include "models/option.h"

namespace hearth::models::flux1 {

inline constexpr Option prompt_2{.name = "prompt_2",
                                 .type = Option::Type::text,
                                 .summary = "Prompt of the second text encoder",
                                 .standard = "--prompt",
                                 .after = "negative_prompt"};
inline constexpr Option negative_prompt_2{.name = "negative_prompt_2",
                                          .type = Option::Type::text,
                                          .summary = "Negative prompt of the second text encoder",
                                          .standard = "--negative-prompt",
                                          .after = "negative_prompt"};
inline constexpr Option max_sequence_length{.name = "max_sequence_length",
                                            .type = Option::Type::integer,
                                            .summary = "Tokens that T5 reads of a prompt",
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

inline constexpr std::array options{prompt_2, negative_prompt_2, max_sequence_length, true_cfg_scale, redux_scale, redux_pooled_scale};

}  // namespace hearth::models::flux1
