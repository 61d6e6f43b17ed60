// The data of a Tokenizer, which the readers of the different kinds of file fill in.
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
  bool clean_up = false;                        // the default of clean_up_tokenization_spaces
  bool split_special_tokens = false;            // encode() never looks for special tokens
  std::map<std::string, std::string> specials;  // "bos_token" → "<s>"

  // A segment of a text: an added token, or a piece for the model.
  struct Segment {
    int32_t id;         // of the added token, or -1
    std::string piece;  // if id is -1
  };
  std::vector<Segment> cut(std::string_view bytes, const EncodeOptions& options) const;
  std::vector<int32_t> encode(std::string_view bytes, const EncodeOptions& options) const;
  const std::string* spelling(int32_t id) const;
  std::optional<int32_t> find(std::string_view token) const;
};

}  // namespace hearth::text
