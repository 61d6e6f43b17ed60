// Text to the token ids of a model, and back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

struct Tokens {
  std::vector<int32_t> ids;
  std::vector<std::string> pieces;  // each token's spelling in the vocabulary
};

// `model`: a folder that holds tokenizer.json, tokenizer.model or vocab.json and merges.txt; such a file; a GGUF file; or an image model
// (a diffusers folder, a DDUF file, a single file), whose first text encoder's tokenizer answers. `config`: as OpenOptions::config. `text`
// is taken byte for byte; each maximal invalid part of UTF-8 counts as U+FFFD. special_tokens: with what the model wants around a text
// (BOS, EOS …), as its own configuration says. IoError, WeightError or UnsupportedError where the tokenizer cannot be read.
Tokens tokenize(const std::filesystem::path& model, std::string_view text, bool special_tokens = true,
                const std::filesystem::path& config = {});

// Special tokens are printed; an id that is no token adds nothing, as in the reference.
std::string detokenize(const std::filesystem::path& model, const std::vector<int32_t>& ids, const std::filesystem::path& config = {});

}  // namespace hearth
