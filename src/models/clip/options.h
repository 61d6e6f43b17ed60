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

}  // namespace hearth::models::clip
