// Options of families whose prompts are encoded by CLIP.
#pragma once

#include <string_view>

#include "models/option.h"

namespace hearth::models::clip {

// The layer of the text encoder whose states are used; `standard`: the family's default in words.
constexpr Option clip_skip_option(std::string_view standard) {
  return {.name = "clip_skip",
          .type = Option::Type::integer,
          .summary = "CLIP skip: which hidden layer of the text encoder conditions the image, counted from the last; 2 is the next-to-last",
          .standard = standard,
          .least = 1,
          .after = "emphasis",
          .stated = true,
          .a1111 = "Clip skip"};
}

inline constexpr Option clip_skip_2{.name = "clip_skip_2",
                                    .type = Option::Type::integer,
                                    .summary = "CLIP skip of the second text encoder",
                                    .standard = "that of --clip-skip; with --compat a1111 2",
                                    .least = 1,
                                    .after = "emphasis"};

// Prompts of single text encoders.
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

}  // namespace hearth::models::clip
