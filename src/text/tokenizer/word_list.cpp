#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "text/tokenizer/readers.h"

namespace hearth::text::pipeline {

using Json = nlohmann::json;

TokenizerFile read_word_list(const TokenizerFiles::Text& vocab, const FolderConfig& config) {
  // Of equal lines the last one counts, as in the reference; the other ids have no token.
  std::map<std::string, int64_t> ids;
  int64_t id = 0;
  for (size_t at = 0; at < vocab.text.size(); ++id) {
    const size_t end = std::min(vocab.text.find('\n', at), vocab.text.size());
    std::string token = vocab.text.substr(at, end - at);
    if (token.ends_with('\r')) token.pop_back();  // Python's universal newlines
    ids[token] = id;
    at = end + 1;
  }
  const auto name_of = [&](const char* key, const char* otherwise) {
    const Json given = config.config->value(key, Json());
    const Json content = given.is_object() ? given.value("content", Json()) : given;
    return content.is_string() ? content.get<std::string>() : std::string(otherwise);
  };
  const std::string cls = name_of("cls_token", "[CLS]"), sep = name_of("sep_token", "[SEP]"), unknown = name_of("unk_token", "[UNK]");
  for (const std::string& token : {cls, sep, unknown})
    if (!ids.contains(token)) fail<WeightError>("{}: the vocabulary has no '{}'", vocab.where, token);

  TokenizerFile file;
  for (const auto& [token, number] : ids) file.vocabulary.emplace_back(token, number);
  file.rest = std::make_shared<Json>(Json::object());
  Json& rest = *file.rest;
  rest["model"] = {{"type", "WordPiece"}, {"unk_token", unknown}, {"continuing_subword_prefix", "##"}, {"max_input_chars_per_word", 100}};
  rest["normalizer"] = {
      {"type", "BertNormalizer"}, {"clean_text", true}, {"handle_chinese_chars", true}, {"strip_accents", nullptr}, {"lowercase", true}};
  rest["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  rest["post_processor"] = {{"type", "BertProcessing"}, {"sep", {sep, ids.at(sep)}}, {"cls", {cls, ids.at(cls)}}};
  rest["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  return file;
}

}  // namespace hearth::text::pipeline
