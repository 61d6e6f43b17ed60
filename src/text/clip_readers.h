// The single files of a tokenizer folder, for clip_vocabulary.cpp. `where` is the file's name for messages; errors are those of
// ClipVocabulary::parse.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "text/clip_vocabulary.h"

namespace hearth::text {

// A file's content, which must be a JSON object.
nlohmann::json parse_object(const std::string& text, const std::string& where);

// Enters one token. WeightError if its spelling or its id is taken by another.
void insert_token(ClipVocabulary& v, const std::string& token, int32_t id, const std::string& where);
int32_t token_id(const nlohmann::json& value, const std::string& token, const std::string& where);

void read_vocabulary(ClipVocabulary& v, const nlohmann::json& vocabulary, const std::string& where);  // vocab.json
void read_merges(ClipVocabulary& v, std::string_view text, const std::string& where);                 // merges.txt

// Enters merges, best first.
class MergeList {
 public:
  MergeList(ClipVocabulary& v, std::string where) : v_(v), where_(std::move(where)) {}
  // `place` names the merge in messages.
  void add(std::string_view left, std::string_view right, size_t place);

 private:
  int32_t id_of(std::string_view token, size_t place) const;

  ClipVocabulary& v_;
  std::string where_, joined_;
  std::unordered_set<uint64_t> seen_;
};

// tokenizer.json: vocabulary, merges and pattern. Its added tokens are the caller's.
void read_tokenizer_json(ClipVocabulary& v, const nlohmann::json& json, const std::string& where);
// Its post-processor must put start and end around the ids.
void check_post_processor(const ClipVocabulary& v, const nlohmann::json& json, const std::string& where);

// The names under which a configuration lists special tokens, in the order in which the reference looks at them.
inline constexpr const char* special_names[] = {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

struct SpecialTokens {
  SpecialTokens();  // CLIPTokenizer's defaults
  // What `json` says about them; its null removes one. Objects in special_tokens_map.json count as special unless they say
  // otherwise, those in tokenizer_config.json do not: that decides how `normalized` is filled in where it is absent.
  enum class Objects { plain, special };
  void read(const nlohmann::json& json, const std::string& where, Objects objects);

  std::map<std::string, AddedToken> by_name;
  std::vector<AddedToken> additional;
};

// A token in any of its published spellings: a text, or an object with the flags of transformers' AddedToken.
// Where it does not say `special` or `normalized`: `special`, and normalized unless special.
AddedToken read_added_token(const nlohmann::json& value, const std::string& where, bool special);

// tokenizer_config.json: lengths and decoding. What would change ids and is not built is refused.
void read_tokenizer_config(ClipVocabulary& v, const std::string& text, const std::string& where);

}  // namespace hearth::text
