// Splits text into runs of one Unicode script, like SentencePiece.
#pragma once

#include <string_view>
#include <vector>

#include "text/tokenizer/regex.h"

namespace hearth::text::pipeline {

// The runs of a valid UTF-8 text. Hiragana, Katakana and U+30FC count as Han; spaces and characters without a script belong to any run.
std::vector<Span> script_runs(std::string_view utf8);

}  // namespace hearth::text::pipeline
