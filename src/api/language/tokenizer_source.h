// Where a language model's tokenizer comes from.
#pragma once

#include <filesystem>

#include "text/tokenizer/tokenizer.h"
#include "weights/gguf/gguf_metadata.h"

namespace hearth {

// What the keys tokenizer.ggml.* say. WeightError for a key that is missing or of another type.
text::GgufVocabulary gguf_vocabulary(const GgufMetadata& metadata);

// text::Tokenizer::open with the classes of all families.
text::Tokenizer open_folder_tokenizer(const std::filesystem::path& path);
// The same, and GGUF files by their first bytes, alone in a folder too.
text::Tokenizer open_tokenizer(const std::filesystem::path& path);

}  // namespace hearth
