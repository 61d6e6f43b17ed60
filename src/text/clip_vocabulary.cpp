#include "text/clip_vocabulary.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file.h"
#include "text/clip_readers.h"

namespace hearth::text {

using Json = nlohmann::json;

namespace {

using AddedById = std::map<int32_t, AddedToken>;

// added_tokens_decoder: {"49406": {"content": …}, …}
void read_decoder(ClipVocabulary& v, AddedById& added, const Json& decoder, const std::string& where) {
  for (const auto& [key, value] : decoder.items()) {
    AddedToken token = read_added_token(value, where, false);
    if (key.empty() || key.size() > 9 || key.find_first_not_of("0123456789") != key.npos)
      fail<WeightError>("{}: token '{}' has id '{}', needed an integer from 0 on", where, token.content, key);
    token.id = std::stoi(key);
    insert_token(v, token.content, token.id, where);
    added[token.id] = token;
  }
}

// added_tokens.json: {"<mine>": 49408, …}
void read_legacy(ClipVocabulary& v, AddedById& added, const Json& json, const SpecialTokens& specials, const std::string& where) {
  for (const auto& [content, id] : json.items()) {
    AddedToken token{.content = content, .id = token_id(id, content, where)};
    for (const auto& [name, special] : specials.by_name) token.special |= special.content == content;
    for (const AddedToken& special : specials.additional) token.special |= special.content == content;
    token.normalized = !token.special;
    insert_token(v, content, token.id, where);
    added[token.id] = token;
  }
}

// tokenizer.json's list: [{"id": 49406, "content": …}, …]
void read_list(ClipVocabulary& v, AddedById& added, const Json& list, const std::string& where) {
  if (!list.is_array()) fail<WeightError>("{}: no list", where);
  for (const Json& value : list) {
    AddedToken token = read_added_token(value, where, false);
    token.id = token_id(value.is_object() ? value.value("id", Json()) : Json(), token.content, where);
    insert_token(v, token.content, token.id, where);
    added[token.id] = token;
  }
}

// tokenizer_config.json; and, in folders from before it had added_tokens_decoder, the three older places.
AddedById read_added_tokens(ClipVocabulary& v, const ClipFiles& files, const Json& whole, SpecialTokens& specials) {
  const auto at = [&](const char* name) { return files.where + "/" + name; };
  AddedById added;
  Json config = Json::object();
  if (files.tokenizer_config) {
    const std::string where = at("tokenizer_config.json");
    read_tokenizer_config(v, *files.tokenizer_config, where);
    config = parse_object(*files.tokenizer_config, where);
    specials.read(config, where, SpecialTokens::Objects::plain);
  }
  if (const Json decoder = config.value("added_tokens_decoder", Json()); !decoder.is_null()) {
    const std::string where = at("tokenizer_config.json: added_tokens_decoder");
    if (!decoder.is_object()) fail<WeightError>("{}: is {}, needed an object", where, decoder.dump());
    read_decoder(v, added, decoder, where);
  } else {
    if (files.special_tokens_map) {
      const std::string where = at("special_tokens_map.json");
      specials.read(parse_object(*files.special_tokens_map, where), where, SpecialTokens::Objects::special);
    }
    if (files.added_tokens) {
      const std::string where = at("added_tokens.json");
      read_legacy(v, added, parse_object(*files.added_tokens, where), specials, where);
    }
    if (whole.is_object() && whole.contains("added_tokens"))
      read_list(v, added, whole.at("added_tokens"), at("tokenizer.json: added_tokens"));
  }

  // Every special token is an added token too; an entry from above keeps its flags.
  const auto add = [&](AddedToken token, const char* name) {
    const auto it = v.ids.find(token.content);
    if (it == v.ids.end()) fail<WeightError>("{}: {} '{}' is in no file of the vocabulary", files.where, name, token.content);
    token.id = it->second;
    token.special = true;
    added.emplace(token.id, token);
  };
  for (const char* name : special_names)
    if (const auto it = specials.by_name.find(name); it != specials.by_name.end()) add(it->second, name);
  for (const AddedToken& token : specials.additional) add(token, "additional_special_tokens");
  return added;
}

}  // namespace

ClipFiles ClipFiles::read(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder)) fail<IoError>("{}: no such folder, needed a tokenizer's", folder.string());
  const auto content = [&](const char* name) -> std::optional<std::string> {
    const std::filesystem::path file = folder / name;
    return std::filesystem::exists(file) ? std::optional(read_file(file)) : std::nullopt;
  };
  return {folder.string(),
          content("vocab.json"),
          content("merges.txt"),
          content("tokenizer_config.json"),
          content("special_tokens_map.json"),
          content("added_tokens.json"),
          content("tokenizer.json")};
}

ClipVocabulary ClipVocabulary::parse(const ClipFiles& files) {
  const auto at = [&](const char* name) { return files.where + "/" + name; };
  ClipVocabulary v;
  Json whole;
  if (files.tokenizer_json) whole = parse_object(*files.tokenizer_json, at("tokenizer.json"));
  const bool from_whole = files.tokenizer_json && !files.vocab_json && !files.merges_txt;
  if (from_whole) {
    read_tokenizer_json(v, whole, at("tokenizer.json"));
  } else {
    if (!files.vocab_json) fail<IoError>("{}: missing, needed beside merges.txt (or tokenizer.json alone)", at("vocab.json"));
    if (!files.merges_txt) fail<IoError>("{}: missing, needed beside vocab.json (or tokenizer.json alone)", at("merges.txt"));
    read_vocabulary(v, parse_object(*files.vocab_json, at("vocab.json")), at("vocab.json"));
    read_merges(v, *files.merges_txt, at("merges.txt"));
  }

  const auto base_size = int32_t(v.ids.size());
  SpecialTokens specials;
  for (auto& [id, token] : read_added_tokens(v, files, whole, specials)) {
    v.added.push_back(token);
    // The reference prints the user's own tokens, special or not, between spaces, those with a role not.
    const auto has_role = [&](const auto& named) { return named.second.content == v.added.back().content; };
    v.added.back().spaced = !token.special || (id >= base_size && std::none_of(specials.by_name.begin(), specials.by_name.end(), has_role));
  }

  const auto id_of = [&](const char* name) {
    const auto it = specials.by_name.find(name);
    if (it == specials.by_name.end()) fail<WeightError>("{}: {} is null, needed a token", files.where, name);
    return v.ids.find(it->second.content)->second;
  };
  v.bos = id_of("bos_token");
  v.eos = id_of("eos_token");
  v.pad = id_of("pad_token");
  v.unk = id_of("unk_token");
  if (from_whole) check_post_processor(v, whole, at("tokenizer.json"));
  return v;
}

}  // namespace hearth::text
