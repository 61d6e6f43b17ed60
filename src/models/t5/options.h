// Options of families whose prompts are encoded by T5.
#pragma once

#include <string_view>

#include "models/option.h"

namespace hearth::models::t5 {

// `standard`: the family's default in words.
constexpr Option max_sequence_length_option(std::string_view standard) {
  return {.name = "max_sequence_length",
          .type = Option::Type::integer,
          .summary = "Tokens of a prompt that the T5 encoder reads; shorter prompts are padded",
          .standard = standard,
          .least = 1,
          .most = 512,
          .after = "emphasis"};
}

}  // namespace hearth::models::t5
