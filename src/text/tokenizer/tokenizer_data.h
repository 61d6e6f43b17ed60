// What a Tokenizer is made of. The readers of the several kinds of file fill it in.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "text/tokenizer/added_vocabulary.h"
#include "text/tokenizer/decoders.h"
#include "text/tokenizer/models.h"
#include "text/tokenizer/normalizers.h"
#include "text/tokenizer/post_processors.h"
#include "text/tokenizer/pre_tokenizers.h"
#include "text/tokenizer/tokenizer.h"

namespace hearth::text {

struct Tokenizer::Data {
  std::unique_ptr<pipeline::Normalizer> normalizer;       // may be null
  std::unique_ptr<pipeline::PreTokenizer> pre_tokenizer;  // may be null
  std::shared_ptr<const pipeline::Model> model;
  pipeline::AddedVocabulary added;
  pipeline::PostProcessor post_processor;
  std::unique_ptr<pipeline::Decoder> decoder;
  bool clean_up = false;                        // decode() cleans up unless it is told otherwise
  bool split_special_tokens = false;            // encode() never looks for special tokens
  std::map<std::string, std::string> specials;  // "bos_token" → "<s>"

  // What a text falls into: added tokens, and pieces for the model.
  struct Part {
    int32_t id;         // an added token's, or -1
    std::string piece;  // where id is -1
  };
  std::vector<Part> cut(std::string_view bytes, const EncodeOptions& options) const;
  std::vector<int32_t> encode(std::string_view bytes, const EncodeOptions& options) const;
  const std::string* spelling(int32_t id) const;
  std::optional<int32_t> find(std::string_view token) const;
};

}  // namespace hearth::text
