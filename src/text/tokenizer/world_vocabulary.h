// The vocabulary of RWKV's world tokenizer: tokens of any bytes, of which the longest that the text starts with is taken, again and again.
// Reference: the authors' rwkv_tokenizer.py (package rwkv 0.8.32); for GGUF files llama.cpp's converter.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/tokenizer_data.h"

namespace hearth::text::pipeline {

// The name of the authors' file, also in folders.
inline constexpr const char* world_vocabulary_file = "rwkv_vocab_v20230424.txt";

// The bytes of each token by id, from lines of an id, a Python literal of a text or of bytes, and the number of bytes. An id without a line
// has no bytes: 0 ends a text. WeightError names a line of another form.
std::vector<std::string> read_world_vocabulary(std::string_view text, const std::string& where);

// The bytes of a token in a GGUF file, where they are written as in a Python literal.
std::string bytes_of_world_token(std::string_view escaped);
// The inverse, as Python writes them.
std::string escaped_world_token(std::string_view bytes);

// A tokenizer of these tokens, by id. Tokens of no bytes are never found in a text, and neither is `end`, the spelling of id 0. Its added
// vocabulary is not finished yet. WeightError if a byte has no token of its own.
std::shared_ptr<Tokenizer::Data> make_world_tokenizer(const std::vector<std::string>& tokens, const std::string& end);

}  // namespace hearth::text::pipeline
