#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/json.h"
#include "text/tokenizer/gguf_patterns.h"
#include "text/tokenizer/readers.h"
#include "text/tokenizer/stage_reader.h"

namespace hearth::text::pipeline {
namespace {

using Json = nlohmann::json;

bool is_true(const Json& config, const char* name) { return config.contains(name) && config[name] == true; }

// Lines of "left right", best first, with Python's universal newlines; the first line is a version. GPT2's class ignores the first line,
// regardless of its contents, and everything after the end of the last line.
Merges read_merges(const TokenizerFiles::Text& file, bool gpt2) {
  const std::string& text = file.text;
  Merges merges;
  size_t number = 0;
  for (size_t at = 0; at < text.size(); ++number) {
    const size_t end = std::min(text.find_first_of("\r\n", at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + (text.substr(end, 2) == "\r\n" ? 2 : 1);
    if (line.empty() || (number == 0 && (gpt2 || line.starts_with("#version"))) || (gpt2 && end == text.size())) continue;
    const size_t space = line.find(' ');
    if (space == line.npos || line.find(' ', space + 1) != line.npos)
      fail<WeightError>("{}: line {} is malformed, expected two tokens with one space between", file.where, number + 1);
    merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return merges;
}

}  // namespace

TokenizerFile read_slow_files(const TokenizerFiles::Text& vocab_file, const TokenizerFiles::Text& merges, const std::string& where,
                              const FolderConfig& config) {
  const std::string& kind = config.tokenizer_class;
  const bool qwen2_class = kind == "Qwen2Tokenizer";
  if (!qwen2_class && kind != "GPT2Tokenizer" && !kind.empty())
    fail<UnsupportedError>("{}: the class '{}' is not supported with vocab.json and merges.txt, expected GPT2Tokenizer or Qwen2Tokenizer",
                           where, kind);

  const Json vocab = parse_json(vocab_file.text, vocab_file.where);
  if (!vocab.is_object()) fail<WeightError>("{}: the contents are not an object, expected a JSON object", vocab_file.where);
  TokenizerFile file;
  for (const auto& [token, id] : vocab.items()) {
    if (!id.is_number_integer()) fail<WeightError>("{}: the token '{}' has the id {}", vocab_file.where, token, short_dump(id));
    file.vocabulary.emplace_back(token, id.get<int64_t>());
  }
  file.merges = read_merges(merges, !qwen2_class);

  const bool prefix = is_true(*config.config, "add_prefix_space");
  Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", true}, {"use_regex", !qwen2_class}};
  file.rest = std::make_shared<Json>(Json::object());
  Json& rest = *file.rest;
  rest["model"] = {{"type", "BPE"}};
  rest["decoder"] = {{"type", "ByteLevel"}};
  if (qwen2_class) {
    rest["normalizer"] = {{"type", "NFC"}};
    const Json split = {
        {"type", "Split"}, {"pattern", {{"Regex", split_rules(qwen2_pre).patterns.front()}}}, {"behavior", "Isolated"}, {"invert", false}};
    byte_level = {{"type", "Sequence"}, {"pretokenizers", {split, byte_level}}};
  }
  rest["pre_tokenizer"] = byte_level;
  // Only GPT2Converter reads add_bos_token.
  if (!qwen2_class && is_true(*config.config, "add_bos_token")) {
    const Json bos = config.config->value("bos_token", Json("<|endoftext|>"));
    const Json content = bos.is_object() ? bos.value("content", Json()) : bos;
    const std::string token = content.is_string() ? content.get<std::string>() : std::string();
    if (!vocab.contains(token)) fail<WeightError>("{}: add_bos_token is true, but the vocabulary has no '{}'", where, token);
    rest["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single", {{{"SpecialToken", {{"id", token}, {"type_id", 0}}}}, {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
        {"special_tokens", {{token, {{"id", token}, {"ids", {vocab[token]}}, {"tokens", {token}}}}}}};
  }
  return file;
}

}  // namespace hearth::text::pipeline
