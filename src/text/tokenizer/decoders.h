// The decoders of a tokenizer.json: from the spellings of tokens to text, one token at a time. decode() feeds all tokens to a stream and
// ends it.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace hearth::text::pipeline {

// Receives tokens in parts: text() any number of times, end() after each token, finish() after the last. Parts are valid UTF-8.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  virtual void text(std::string_view part) = 0;
  virtual void end() = 0;
  virtual void finish() = 0;
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  // A step of a new stream, which passes its output to `next`.
  virtual std::unique_ptr<TokenSink> open(std::unique_ptr<TokenSink> next) const = 0;
};

// BPEDecoder, ByteFallback, ByteLevel, CTC, Fuse, Metaspace, Replace, Sequence, Strip, WordPiece. null: tokens with spaces between them.
// UnsupportedError names any other type, WeightError a missing or invalid member.
std::unique_ptr<Decoder> make_decoder(const nlohmann::json& stage);

// The end of a stream: appends to `out`, which outlives it.
std::unique_ptr<TokenSink> collect(std::string& out);
// An optional step before it: transformers' clean_up_tokenization ("a ," → "a,", "do n't" → "don't").
std::unique_ptr<TokenSink> clean_up(std::unique_ptr<TokenSink> next);

}  // namespace hearth::text::pipeline
