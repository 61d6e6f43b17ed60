// The tokenizer of a language model that encodes the texts of an image model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/prompt/prompt.h"
#include "text/tokenizer/tokenizer.h"
#include "weights/checkpoint.h"

namespace hearth::models::language_encoder {

// `tokenizer`: the component; if the text encoder `encoder` is a GGUF file, its own. IoError, WeightError or UnsupportedError if it cannot
// be read.
text::Tokenizer tokenizer_of(const Checkpoint& checkpoint, std::string_view tokenizer, std::string_view encoder);

// Cuts the ids of a prompt off behind the first `most`. Returns what was cut off, in one line; empty if nothing.
std::string cut_off(std::vector<int32_t>& ids, int64_t most, text::PromptRole role, const text::Tokenizer& tokenizer);

}  // namespace hearth::models::language_encoder
