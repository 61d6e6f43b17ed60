// CLIP's tokenizer (Radford et al. 2021): converts a prompt to the 77 ids of a text encoder's input. A configuration of text/tokenizer that
// follows CLIPTokenizer and CLIPTokenizerFast of transformers 4.57.1; README.md lists what is easy to get wrong.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/clip/clip_cleaning.h"
#include "text/clip/clip_vocabulary.h"

namespace hearth::text {

// Immutable and thread-safe after construction. Copies share the vocabulary. Prompts are UTF-8; each maximal invalid part counts as U+FFFD.
// Their length is not limited; time is O(n log n).
class ClipTokenizer {
 public:
  // A published `tokenizer/` folder: vocab.json and merges.txt (with tokenizer_config.json, special_tokens_map.json, added_tokens.json if
  // they exist), or tokenizer.json. IoError, WeightError, UnsupportedError: see ClipVocabulary::parse.
  static ClipTokenizer load(const std::filesystem::path& folder, Cleaning cleaning = Cleaning::ftfy);
  // The same from memory.
  static ClipTokenizer parse(const ClipFiles& files, Cleaning cleaning = Cleaning::ftfy);

  // The same vocabulary with another cleaning.
  ClipTokenizer with_cleaning(Cleaning cleaning) const;

  struct Encoding {
    std::vector<int32_t> ids;    // [model_max_length]: start, tokens, end, padding
    int64_t tokens = 0;          // tokens of the prompt in ids, without start and end
    int64_t dropped = 0;         // tokens of the prompt that did not fit
    std::string truncated_text;  // the dropped tokens as text, as diffusers prints them
  };
  Encoding encode(std::string_view prompt) const;

  // All tokens of the prompt, without start, end and padding, and without a limit.
  std::vector<int32_t> tokenize(std::string_view prompt) const;
  // Their spellings in the vocabulary ("cat</w>"), like CLIPTokenizer.tokenize. A byte that the vocabulary lacks has the id unk() but keeps
  // its own spelling here.
  std::vector<std::string> pieces(std::string_view prompt) const;
  // CLIPTokenizer.decode: concatenated bytes, "</w>" as a space, invalid UTF-8 as U+FFFD; special tokens are included. UsageError for an id
  // that is not a token.
  std::string decode(const std::vector<int32_t>& ids) const;

  int64_t vocab_size() const;        // tokens, added ones included
  int32_t max_id() const;            // an embedding needs more rows than this
  int64_t model_max_length() const;  // 77 in every published checkpoint
  int32_t bos() const;
  int32_t eos() const;
  int32_t pad() const;
  int32_t unk() const;
  Cleaning cleaning() const;
  // The id of a token by its spelling, -1 if there is none.
  int32_t id_of(std::string_view token) const;

 private:
  struct Data;
  explicit ClipTokenizer(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

  std::shared_ptr<const Data> data_;
};

}  // namespace hearth::text
