// A published CLIP tokenizer folder, read and checked.
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

// The files of a `tokenizer/` folder as text; absent ones are empty. Needed: vocab_json with merges_txt, or tokenizer_json
// (all that transformers 5 writes). With both, the first two are read, and of tokenizer_json only its added tokens.
struct ClipFiles {
  std::string where = "tokenizer";  // what messages call the folder
  std::optional<std::string> vocab_json, merges_txt, tokenizer_config, special_tokens_map, added_tokens, tokenizer_json;

  // IoError for a folder that is missing or a file that cannot be read.
  static ClipFiles read(const std::filesystem::path& folder);
};

struct ClipVocabulary {
  pipeline::VocabularyEntries tokens;             // every token, added ones too
  pipeline::Merges merges;                        // best first
  std::map<int32_t, pipeline::AddedToken> added;  // by id; specials too
  std::set<int32_t> spaced;                       // added tokens that decode() prints between spaces
  int32_t bos = -1, eos = -1, pad = -1, unk = -1;
  int64_t model_max_length = 77;                  // where the configuration names none
  bool clean_up_spaces = false;                   // decode() removes the space before . , ! ? and contractions
  WordPattern fast_pattern = WordPattern::exact;  // for Cleaning::fast: the pattern of tokenizer.json

  // IoError: a file is missing or no valid JSON. WeightError: a token or id or merge that occurs twice, an id that is no
  // integer from 0 on, a merge of or into something that is no token, a special token that is in no file. UnsupportedError: another
  // tokenizer class, another normalizer or pre-tokenizer than CLIP's, a setting that would change ids (each by name).
  static ClipVocabulary parse(const ClipFiles& files);
};

}  // namespace hearth::text
