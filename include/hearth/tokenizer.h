// Tokenizes text with a model's tokenizer, and detokenizes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

struct Tokens {
  std::vector<int32_t> ids;
  std::vector<std::string> pieces;  // each token as spelled in the vocabulary
};

// `model`: a folder with tokenizer.json, tokenizer.model or vocab.json and merges.txt; such a file; a GGUF file; or an image model (a
// diffusers folder, a DDUF file, a single file), of which the first text encoder's tokenizer is used. `config`: as OpenOptions::config.
// `text` is used byte for byte; each maximal invalid UTF-8 sequence becomes U+FFFD. `special_tokens`: add the tokens (BOS, EOS …) that the
// tokenizer's configuration specifies. IoError, WeightError or UnsupportedError if the tokenizer cannot be read.
Tokens tokenize(const std::filesystem::path& model, std::string_view text, bool special_tokens = true,
                const std::filesystem::path& config = {});

// Includes special tokens; skips ids outside the vocabulary, as the reference implementation does.
std::string detokenize(const std::filesystem::path& model, const std::vector<int32_t>& ids, const std::filesystem::path& config = {});

}  // namespace hearth
