// CLIP's tokenizer (Radford et al. 2021): a prompt to the 77 ids that a text encoder takes. A configuration of text/tokenizer that
// follows CLIPTokenizer and CLIPTokenizerFast of transformers 4.57.1; README.md says what is easy to get wrong.
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

// Constant after construction: any number of threads may use one. Copies share the vocabulary.
// Prompts are UTF-8; each maximal invalid part counts as U+FFFD. No limit on their length; time is O(n log n).
class ClipTokenizer {
 public:
  // A published `tokenizer/` folder: vocab.json + merges.txt (tokenizer_config.json, special_tokens_map.json, added_tokens.json
  // where they are), or tokenizer.json. IoError, WeightError, UnsupportedError: see ClipVocabulary::parse.
  static ClipTokenizer load(const std::filesystem::path& folder, Cleaning cleaning = Cleaning::ftfy);
  // The same from memory.
  static ClipTokenizer parse(const ClipFiles& files, Cleaning cleaning = Cleaning::ftfy);

  // The same vocabulary with another cleaning; itself where it has that one.
  ClipTokenizer with_cleaning(Cleaning cleaning) const;

  struct Encoding {
    std::vector<int32_t> ids;    // [model_max_length]: start, tokens, end, padding
    int64_t tokens = 0;          // of the prompt that are in ids, without start and end
    int64_t dropped = 0;         // of the prompt that were too many
    std::string truncated_text;  // those, as text: what diffusers prints when it cuts a prompt
  };
  Encoding encode(std::string_view prompt) const;

  // All tokens of the prompt, without start, end, padding or limit.
  std::vector<int32_t> tokenize(std::string_view prompt) const;
  // Their spellings in the vocabulary ("cat</w>"), as CLIPTokenizer.tokenize lists them. A byte that the vocabulary lacks has id
  // unk() and keeps its own spelling here.
  std::vector<std::string> pieces(std::string_view prompt) const;
  // CLIPTokenizer.decode: bytes put together, "</w>" as a space, invalid UTF-8 as U+FFFD; special tokens are printed. UsageError
  // for an id that is no token.
  std::string decode(const std::vector<int32_t>& ids) const;

  int64_t vocab_size() const;        // tokens, added ones included
  int32_t max_id() const;            // an embedding needs more rows than this
  int64_t model_max_length() const;  // 77 in every published checkpoint
  int32_t bos() const;
  int32_t eos() const;
  int32_t pad() const;
  int32_t unk() const;
  Cleaning cleaning() const;
  // The id of one token by its spelling, -1 where there is none.
  int32_t id_of(std::string_view token) const;

 private:
  struct Data;
  explicit ClipTokenizer(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

  std::shared_ptr<const Data> data_;
};

}  // namespace hearth::text
