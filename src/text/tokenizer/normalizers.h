// The normalizers of a tokenizer.json: what is done to text before it is split.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace hearth::text::pipeline {

// A stretch of a prompt on its way to the model; valid UTF-8.
struct Text {
  std::string bytes;
  // Bytes at its beginning that stand for the very beginning of the prompt (0 where it lies further on): Metaspace's scheme "first"
  // asks for it.
  size_t origin = 0;
};

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(Text& text) const = 0;
};

// BertNormalizer, ByteLevel, Lowercase, NFC, NFD, NFKC, NFKD, Nmt, Precompiled, Prepend, Replace, Sequence, Strip, StripAccents.
// nullptr for null. UnsupportedError names any other type, WeightError a member that is missing or wrong.
std::unique_ptr<Normalizer> make_normalizer(const nlohmann::json& stage);

}  // namespace hearth::text::pipeline
