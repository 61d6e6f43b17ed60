// What a GGUF file of a language model says about its texts.
#pragma once

#include <map>
#include <string>

#include "text/tokenizer/gguf_vocabulary.h"
#include "weights/gguf/gguf_metadata.h"

namespace hearth::models {

// Reads the keys tokenizer.ggml.*. WeightError for a key that is missing or has another type.
text::GgufVocabulary gguf_vocabulary(const GgufMetadata& metadata);

// By name: tokenizer.chat_template is "default", tokenizer.chat_template.NAME is "NAME".
std::map<std::string, std::string> gguf_chat_templates(const GgufMetadata& metadata);

}  // namespace hearth::models
