#include "models/gguf_wording.h"

#include <limits>

#include "core/error.h"

namespace hearth::models {
namespace {

int32_t small(const GgufMetadata& metadata, const std::string& key, int64_t value) {
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max())
    fail<WeightError>("{}: {} is {}, which does not fit 32 bits", metadata.where(), key, value);
  return int32_t(value);
}

std::optional<int32_t> optional_id(const GgufMetadata& metadata, const std::string& key) {
  if (!metadata.has(key)) return std::nullopt;
  return small(metadata, key, metadata.integer(key));
}

std::optional<bool> optional_flag(const GgufMetadata& metadata, const std::string& key) {
  return metadata.has(key) ? std::optional(metadata.boolean(key)) : std::nullopt;
}

}  // namespace

text::GgufVocabulary gguf_vocabulary(const GgufMetadata& metadata) {
  const std::string prefix = "tokenizer.ggml.";
  text::GgufVocabulary v;
  v.model = metadata.text(prefix + "model");
  v.pre = metadata.text(prefix + "pre", "default");
  for (const std::string_view token : metadata.texts(prefix + "tokens")) v.tokens.emplace_back(token);
  if (metadata.has(prefix + "scores"))
    for (const double score : metadata.numbers(prefix + "scores")) v.scores.push_back(float(score));
  if (metadata.has(prefix + "token_type"))
    for (const int64_t type : metadata.integers(prefix + "token_type"))
      v.token_types.push_back(small(metadata, prefix + "token_type", type));
  if (metadata.has(prefix + "merges"))
    for (const std::string_view merge : metadata.texts(prefix + "merges")) v.merges.emplace_back(merge);
  v.bos = optional_id(metadata, prefix + "bos_token_id");
  v.eos = optional_id(metadata, prefix + "eos_token_id");
  v.unk = optional_id(metadata, prefix + "unknown_token_id");
  v.pad = optional_id(metadata, prefix + "padding_token_id");
  v.sep = optional_id(metadata, prefix + "seperator_token_id");  // the format's spelling
  v.cls = optional_id(metadata, prefix + "cls_token_id");
  v.mask = optional_id(metadata, prefix + "mask_token_id");
  v.add_bos = optional_flag(metadata, prefix + "add_bos_token");
  v.add_eos = optional_flag(metadata, prefix + "add_eos_token");
  v.add_space_prefix = optional_flag(metadata, prefix + "add_space_prefix");
  v.remove_extra_whitespaces = optional_flag(metadata, prefix + "remove_extra_whitespaces");
  if (metadata.has(prefix + "precompiled_charsmap"))
    for (const int64_t byte : metadata.integers(prefix + "precompiled_charsmap")) v.precompiled_charsmap += char(byte);
  return v;
}

std::map<std::string, std::string> gguf_chat_templates(const GgufMetadata& m) {
  std::map<std::string, std::string> templates;
  const std::string key = "tokenizer.chat_template";
  if (m.has(key)) templates["default"] = m.text(key);
  for (const auto& [name, value] : m.values())
    if (name.starts_with(key + ".")) templates[name.substr(key.size() + 1)] = m.text(name);
  return templates;
}

}  // namespace hearth::models
