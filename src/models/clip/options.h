// Options of families whose prompts go through CLIP text encoders.
#pragma once

#include <string_view>

#include "models/option.h"

namespace hearth::models::clip {

// Which layer of the text encoder the states are taken from; `standard`: the family's default in words.
constexpr Option clip_skip_option(std::string_view standard) {
  return {.name = "clip_skip",
          .type = Option::Type::integer,
          .summary = "Layer of the text encoder whose states are used, from its end: 2 is the last but one",
          .standard = standard,
          .least = 1,
          .after = "emphasis",
          .stated = true,
          .a1111 = "Clip skip"};
}

}  // namespace hearth::models::clip
