// Readers for the files of a tokenizer.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "text/tokenizer/tokenizer_file.h"

namespace hearth::text::pipeline {

// tokenizer_config.json and related files, as transformers reads them.
struct FolderConfig {
  std::shared_ptr<const nlohmann::json> config;              // tokenizer_config.json, an empty object if there is none
  std::shared_ptr<const nlohmann::json> special_tokens_map;  // special_tokens_map.json, null if there is none
  std::shared_ptr<const nlohmann::json> added_tokens;        // added_tokens.json, null if there is none
  std::string tokenizer_class;                               // without "Fast"; empty: unknown
  bool own_class = false;                                    // the folder names FamilyClass::own_class

  static FolderConfig read(const TokenizerFiles& files, std::span<const FamilyClass> classes);
};

// The number of tokens "<extra_id_0>" … that T5's class adds: 100 unless the configuration sets it. WeightError unless it is a number from
// 0 to 100000.
int64_t extra_ids(const FolderConfig& folder);
// Whether the class reads tokenizer.model even if there is a tokenizer.json: LlamaTokenizer and T5Tokenizer do if add_prefix_space is set,
// because only the conversion supports that switch.
bool prefers_sentencepiece(const FolderConfig& folder);
// Applies the changes of a class of transformers before the stages are built (Bert's switches, add_prefix_space).
void apply_class(TokenizerFile& file, const FolderConfig& folder);
// Adds special and added tokens, sets BOS and EOS like the class, and finishes the added vocabulary.
void apply_config(Tokenizer::Data& data, const FolderConfig& folder);

// Converts vocab.json and merges.txt like GPT2Converter and Qwen2Converter. UnsupportedError for another class. `where`: of both.
TokenizerFile read_slow_files(const TokenizerFiles::Text& vocab, const TokenizerFiles::Text& merges, const std::string& where,
                              const FolderConfig& config);

// Converts vocab.txt, a token per line, like BertConverter.
TokenizerFile read_word_list(const TokenizerFiles::Text& vocab, const FolderConfig& config);

// Converts a SentencePiece model like SpmConverter and its subclasses.
TokenizerFile convert_sentencepiece(std::string_view bytes, const std::string& where, const FolderConfig& config);

}  // namespace hearth::text::pipeline
