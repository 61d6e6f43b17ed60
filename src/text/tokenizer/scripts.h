// Runs of one Unicode script, as SentencePiece cuts them.
#pragma once

#include <string_view>
#include <vector>

#include "text/tokenizer/regex.h"

namespace hearth::text::pipeline {

// The runs of a valid UTF-8 text. Hiragana, Katakana and U+30FC count as Han; a space and what has no script belong to any.
std::vector<Span> script_runs(std::string_view utf8);

}  // namespace hearth::text::pipeline
