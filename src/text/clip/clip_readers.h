// Readers of the individual files of a tokenizer folder, for clip_vocabulary.cpp. `where` is the file's name in messages; errors:
// ClipVocabulary::parse.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/clip/clip_vocabulary.h"

namespace hearth::text {

// A file's content, which must be a JSON object.
nlohmann::json parse_object(const std::string& text, const std::string& where);

// The suffix of tokens that end a word in OpenAI's vocabulary.
inline constexpr std::string_view word_end = "</w>";

// Collects tokens from several files.
class TokenList {
 public:
  // WeightError if another token has the same spelling or id.
  void add(const std::string& token, int32_t id, const std::string& where);
  int32_t find(std::string_view token) const;  // its id; -1 if it is not in the vocabulary
  size_t size() const { return ids_.size(); }
  void reserve(size_t count) { ids_.reserve(count); }
  pipeline::VocabularyEntries entries() const;  // by id

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
  };
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> ids_;
  pipeline::HashTable<const std::string*> tokens_;  // by id
};

int32_t token_id(const nlohmann::json& value, const std::string& token, const std::string& where);

void read_vocabulary(TokenList& tokens, const nlohmann::json& vocabulary, const std::string& where);     // vocab.json
pipeline::Merges read_merges(const TokenList& tokens, std::string_view text, const std::string& where);  // merges.txt

// Collects merges, best first.
class MergeList {
 public:
  MergeList(const TokenList& tokens, std::string where) : tokens_(tokens), where_(std::move(where)) {}
  // `place`: the number of the merge in messages.
  void add(std::string_view left, std::string_view right, size_t place);

  pipeline::Merges merges;

 private:
  int32_t id_of(std::string_view token, size_t place) const;

  const TokenList& tokens_;
  std::string where_, joined_;
  pipeline::HashTable<bool> seen_;
};

// Reads vocabulary, merges and pattern of tokenizer.json. The caller reads its added tokens.
void read_tokenizer_json(ClipVocabulary& v, TokenList& tokens, const nlohmann::json& json, const std::string& where);
// Checks that its post-processor puts start and end, each a spelling and an id, around the ids.
using NamedId = std::pair<std::string, int32_t>;
void check_post_processor(const NamedId& start, const NamedId& end, const nlohmann::json& json, const std::string& where);

// The names of special tokens in a configuration, in the order in which the reference reads them.
inline constexpr const char* special_names[] = {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

struct SpecialTokens {
  SpecialTokens();  // CLIPTokenizer's defaults
  // Reads the special tokens in `json`; null removes one. Objects in special_tokens_map.json are special by default, those in
  // tokenizer_config.json are not, which determines the default of `normalized`.
  enum class Objects { plain, special };
  void read(const nlohmann::json& json, const std::string& where, Objects objects);

  std::map<std::string, pipeline::AddedToken> by_name;
  std::vector<pipeline::AddedToken> additional;
};

// Reads a token in any published form: a text, or an object with the flags of transformers' AddedToken. Defaults: `special` as given, and
// normalized unless special.
pipeline::AddedToken read_added_token(const nlohmann::json& value, const std::string& where, bool special);

// Reads lengths and decoding options of tokenizer_config.json. Refuses unsupported settings that would change ids.
void read_tokenizer_config(ClipVocabulary& v, const std::string& text, const std::string& where);

}  // namespace hearth::text
