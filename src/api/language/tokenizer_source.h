// Opens a language model's tokenizer.
#pragma once

#include <filesystem>

#include "text/tokenizer/tokenizer.h"

namespace hearth {

// text::Tokenizer::open with the classes of all families.
text::Tokenizer open_folder_tokenizer(const std::filesystem::path& path);
// The same, and GGUF files, detected by their first bytes; also a folder with a single GGUF file.
text::Tokenizer open_tokenizer(const std::filesystem::path& path);

}  // namespace hearth
