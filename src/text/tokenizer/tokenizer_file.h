// A tokenizer.json as it stands in the file, and what the other kinds of file are turned into.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/tokenizer/tokenizer_data.h"

namespace hearth::text::pipeline {

struct TokenizerFile {
  std::shared_ptr<nlohmann::json> rest;                // an object: all but the members below
  VocabularyEntries vocabulary;                        // model.vocab of BPE, WordPiece and WordLevel
  std::vector<std::pair<std::string, double>> scores;  // model.vocab of Unigram
  Merges merges;                                       // model.merges
};

// A whole text; IoError that begins with `where` for malformed JSON, WeightError for a vocabulary or merges of another form.
// Reads 20 MB in well under a second: the large members never become JSON values.
TokenizerFile parse_tokenizer_file(std::string_view text, const std::string& where);

// One entry of "added_tokens", of "added_tokens_decoder", or a special token that is written as an object. WeightError.
AddedToken added_token_of(const nlohmann::json& json);

// The tokenizer without what tokenizer_config.json says; its added vocabulary is not finished yet.
std::shared_ptr<Tokenizer::Data> make_tokenizer(TokenizerFile file);

}  // namespace hearth::text::pipeline
