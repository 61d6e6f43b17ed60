#include "text/tokenizer/gguf_patterns.h"

#include <map>

#include "core/error.h"
#include "text/tokenizer/pre_tokenizers.h"

namespace hearth::text::pipeline {
namespace {

const std::map<std::string, std::vector<std::string>, std::less<>>& table() {
  static const std::map<std::string, std::vector<std::string>, std::less<>> patterns = {
      {"gpt-2", {gpt2_pattern}},
      {"llama-bpe",
       {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}},
      {"qwen2", {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}},
      {"tekken",
       {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
        R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
        R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}},
      {"starcoder", {R"(\p{N})", gpt2_pattern}},
      {"deepseek-coder", {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+", R"(\p{N})"}},
      {"deepseek-v3",
       {R"(\p{N}{1,3})", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
        R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
        R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}},
  };
  return patterns;
}

}  // namespace

std::string canonical_pre(std::string_view pre) {
  static const std::map<std::string_view, const char*> synonyms = {
      {"gpt2", "gpt-2"},       {"phi-2", "gpt-2"},        {"refact", "starcoder"},  {"smollm", "starcoder"},
      {"llama3", "llama-bpe"}, {"llama-v3", "llama-bpe"}, {"falcon3", "llama-bpe"}, {"deepseek-r1-qwen", "qwen2"}};
  const auto found = synonyms.find(pre);
  return found == synonyms.end() ? std::string(pre) : found->second;
}

const std::vector<std::string>& patterns_of(std::string_view pre) {
  const auto found = table().find(canonical_pre(pre));
  if (found == table().end())
    fail<UnsupportedError>("tokenizer: the split pattern '{}' (tokenizer.ggml.pre) is not supported; a guess would give wrong ids", pre);
  return found->second;
}

std::optional<std::string_view> name_of_patterns(const std::vector<std::string>& patterns) {
  for (const std::string_view name : {"gpt-2", "llama-bpe", "qwen2", "tekken", "smollm", "deepseek-coder", "deepseek-v3"})
    if (patterns_of(name) == patterns) return name;
  return std::nullopt;
}

}  // namespace hearth::text::pipeline
