// The normalizers of a tokenizer.json, which change text before it is split.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace hearth::text::pipeline {

// A span of a prompt on its way to the model; valid UTF-8.
struct Text {
  std::string bytes;
  // The number of leading bytes that come from the very start of the prompt (0 for a later span), for Metaspace's scheme "first".
  size_t origin = 0;
};

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(Text& text) const = 0;
};

// BertNormalizer, ByteLevel, Lowercase, NFC, NFD, NFKC, NFKD, Nmt, Precompiled, Prepend, Replace, Sequence, Strip, StripAccents.
// nullptr for null. UnsupportedError names any other type, WeightError a missing or invalid member.
std::unique_ptr<Normalizer> make_normalizer(const nlohmann::json& stage);

}  // namespace hearth::text::pipeline
