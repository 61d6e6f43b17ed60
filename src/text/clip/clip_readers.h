// The single files of a tokenizer folder, for clip_vocabulary.cpp. `where` is the file's name for messages; errors are those of
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

// The word end of OpenAI's vocabulary: a suffix of tokens that end a word.
inline constexpr std::string_view word_end = "</w>";

// Tokens while they are read, from several files.
class TokenList {
 public:
  // WeightError if the spelling or the id is taken by another.
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

// Merges while they are read, best first.
class MergeList {
 public:
  MergeList(const TokenList& tokens, std::string where) : tokens_(tokens), where_(std::move(where)) {}
  // `place` names the merge in messages.
  void add(std::string_view left, std::string_view right, size_t place);

  pipeline::Merges merges;

 private:
  int32_t id_of(std::string_view token, size_t place) const;

  const TokenList& tokens_;
  std::string where_, joined_;
  pipeline::HashTable<bool> seen_;
};

// tokenizer.json: vocabulary, merges and pattern. Its added tokens are the caller's.
void read_tokenizer_json(ClipVocabulary& v, TokenList& tokens, const nlohmann::json& json, const std::string& where);
// Its post-processor must put start and end, each a spelling and an id, around the ids.
using NamedId = std::pair<std::string, int32_t>;
void check_post_processor(const NamedId& start, const NamedId& end, const nlohmann::json& json, const std::string& where);

// The names under which a configuration lists special tokens, in the order in which the reference looks at them.
inline constexpr const char* special_names[] = {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

struct SpecialTokens {
  SpecialTokens();  // CLIPTokenizer's defaults
  // What `json` says about them; its null removes one. Objects in special_tokens_map.json count as special unless they say
  // otherwise, those in tokenizer_config.json do not: that decides how `normalized` is filled in where it is absent.
  enum class Objects { plain, special };
  void read(const nlohmann::json& json, const std::string& where, Objects objects);

  std::map<std::string, pipeline::AddedToken> by_name;
  std::vector<pipeline::AddedToken> additional;
};

// A token in any of its published spellings: a text, or an object with the flags of transformers' AddedToken.
// Where it does not say `special` or `normalized`: `special`, and normalized unless special.
pipeline::AddedToken read_added_token(const nlohmann::json& value, const std::string& where, bool special);

// tokenizer_config.json: lengths and decoding. What would change ids and is not built is refused.
void read_tokenizer_config(ClipVocabulary& v, const std::string& text, const std::string& where);

}  // namespace hearth::text
