// Reads and checks a published CLIP tokenizer folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "text/clip/clip_cleaning.h"
#include "text/tokenizer/added_vocabulary.h"
#include "text/tokenizer/models.h"

namespace hearth::text {

// The files of a `tokenizer/` folder as text; absent ones are empty. Required: vocab_json with merges_txt, or tokenizer_json (the only file
// that transformers 5 writes). If all exist, only the added tokens of tokenizer_json are read.
struct ClipFiles {
  std::string where = "tokenizer";  // name of the folder in messages
  std::optional<std::string> vocab_json, merges_txt, tokenizer_config, special_tokens_map, added_tokens, tokenizer_json;

  // IoError for a folder that is missing or a file that cannot be read.
  static ClipFiles read(const std::filesystem::path& folder);
};

struct ClipVocabulary {
  pipeline::VocabularyEntries tokens;             // every token, including added ones
  pipeline::Merges merges;                        // best first
  std::map<int32_t, pipeline::AddedToken> added;  // by id, including special ones
  std::set<int32_t> spaced;                       // added tokens that decode() prints between spaces
  int32_t bos = -1, eos = -1, pad = -1, unk = -1;
  int64_t model_max_length = 77;                  // default if the configuration has none
  bool clean_up_spaces = false;                   // decode() removes the space before . , ! ? and contractions
  WordPattern fast_pattern = WordPattern::exact;  // for Cleaning::fast: the pattern of tokenizer.json

  // IoError: a file is missing or is not valid JSON. WeightError: a duplicate token, id or merge, an id that is not a non-negative integer,
  // a merge of or into something that is not a token, a special token that is in no file. UnsupportedError, which names the setting:
  // another tokenizer class, a normalizer or pre-tokenizer other than CLIP's, or another setting that would change ids.
  static ClipVocabulary parse(const ClipFiles& files);
};

}  // namespace hearth::text
