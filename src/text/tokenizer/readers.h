// The kinds of file that a tokenizer comes as.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "text/tokenizer/tokenizer_file.h"

namespace hearth::text::pipeline {

// What transformers does with tokenizer_config.json and its neighbors.
struct FolderConfig {
  std::shared_ptr<const nlohmann::json> config;              // tokenizer_config.json, an empty object where there is none
  std::shared_ptr<const nlohmann::json> special_tokens_map;  // special_tokens_map.json, null where there is none
  std::shared_ptr<const nlohmann::json> added_tokens;        // added_tokens.json, null where there is none
  std::string tokenizer_class;                               // without "Fast"; empty: unknown

  static FolderConfig read(const std::filesystem::path& folder, std::span<const FamilyClass> classes);
};

// How many tokens "<extra_id_0>" … T5's class adds: 100 unless the configuration says otherwise. WeightError for what is no number
// from 0 to 100000.
int64_t extra_ids(const FolderConfig& folder);
// Whether the class reads tokenizer.model although there is a tokenizer.json: LlamaTokenizer and T5Tokenizer do where add_prefix_space is
// set, because only the conversion knows that switch.
bool prefers_sentencepiece(const FolderConfig& folder);
// Changes what a class of transformers changes before the stages are built (Bert's switches, add_prefix_space).
void apply_class(TokenizerFile& file, const FolderConfig& folder);
// Adds special and added tokens, sets BOS and EOS as the class does, and finishes the added vocabulary.
void apply_config(Tokenizer::Data& data, const FolderConfig& folder);

// vocab.json and merges.txt as GPT2Converter and Qwen2Converter turn them. UnsupportedError for another class.
TokenizerFile read_slow_files(const std::filesystem::path& folder, const FolderConfig& config);

// A SentencePiece model as SpmConverter and its descendants turn it.
TokenizerFile convert_sentencepiece(std::string_view bytes, const std::string& where, const FolderConfig& config);

}  // namespace hearth::text::pipeline
