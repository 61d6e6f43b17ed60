// Options of families whose prompts are encoded by T5 or a language model.
#pragma once

#include <string_view>

#include "models/option.h"

namespace hearth::models {

// `standard`: the family's default in words.
constexpr Option max_sequence_length_option(std::string_view standard, double most = 512) {
  return {.name = "max_sequence_length",
          .type = Option::Type::integer,
          .summary =
              "Tokens of a prompt that T5, or the language model that encodes texts, reads; shorter prompts are padded where the model "
              "needs it",
          .standard = standard,
          .least = 1,
          .most = most,
          .after = "emphasis"};
}

}  // namespace hearth::models
