// The contents of a tokenizer.json; other kinds of file are converted to this form.
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
  std::shared_ptr<nlohmann::json> rest;                // an object: everything except the members below
  VocabularyEntries vocabulary;                        // model.vocab of BPE, WordPiece and WordLevel
  std::vector<std::pair<std::string, double>> scores;  // model.vocab of Unigram
  Merges merges;                                       // model.merges
};

// Parses a complete text. Reads 20 MB in well under a second, because the large members never become JSON values. IoError, with a message
// that starts with `where`, for malformed JSON; WeightError for a vocabulary or merges of another form.
TokenizerFile parse_tokenizer_file(std::string_view text, const std::string& where);

// One entry of "added_tokens" or "added_tokens_decoder", or a special token that is an object. WeightError.
AddedToken added_token_of(const nlohmann::json& json);

// The tokenizer before tokenizer_config.json is applied; its added vocabulary is not finished yet.
std::shared_ptr<Tokenizer::Data> make_tokenizer(TokenizerFile file);

}  // namespace hearth::text::pipeline
