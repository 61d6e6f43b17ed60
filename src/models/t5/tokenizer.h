// A checkpoint's T5 tokenizer, from any checkpoint layout.
#pragma once

#include "text/tokenizer/tokenizer.h"
#include "weights/checkpoint.h"

namespace hearth::models::t5 {

// The files of the component "tokenizer_2" or "tokenizer_3" (tokenizer.json, spiece.model …), read as the class that model_index.json names
// reads them. WeightError unless the vocabulary has the end and padding tokens; errors of Tokenizer::open.
text::Tokenizer tokenizer_of(const Checkpoint& checkpoint, std::string_view component);

// The same for the tokenizer of any encoder, whatever its special tokens.
text::Tokenizer opened_tokenizer(const Checkpoint& checkpoint, std::string_view component);

}  // namespace hearth::models::t5
