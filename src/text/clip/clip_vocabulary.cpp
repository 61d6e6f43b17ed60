#include "text/clip/clip_vocabulary.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/file.h"
#include "text/clip/clip_readers.h"

namespace hearth::text {

using Json = nlohmann::json;

namespace {

using pipeline::AddedToken;

// Collects the contents of the files.
struct Reader {
  const ClipFiles& files;
  ClipVocabulary v = {};
  TokenList tokens = {};
  SpecialTokens specials = {};

  std::string at(const char* name) const { return files.where + "/" + name; }

  void add(int32_t id, const AddedToken& token, const std::string& where) {
    tokens.add(token.content, id, where);
    v.added[id] = token;
  }

  // added_tokens_decoder: {"49406": {"content": …}, …}
  void read_decoder(const Json& decoder, const std::string& where) {
    for (const auto& [key, value] : decoder.items()) {
      const AddedToken token = read_added_token(value, where, false);
      if (key.empty() || key.size() > 9 || key.find_first_not_of("0123456789") != key.npos)
        fail<WeightError>("{}: token '{}' has id '{}', expected an integer of at least 0", where, token.content, key);
      add(std::stoi(key), token, where);
    }
  }

  // added_tokens.json: {"<mine>": 49408, …}
  void read_legacy(const Json& json, const std::string& where) {
    for (const auto& [content, id] : json.items()) {
      AddedToken token{.content = content};
      for (const auto& [name, special] : specials.by_name) token.special |= special.content == content;
      for (const AddedToken& special : specials.additional) token.special |= special.content == content;
      token.normalized = !token.special;
      add(token_id(id, content, where), token, where);
    }
  }

  // tokenizer.json's list: [{"id": 49406, "content": …}, …]
  void read_list(const Json& list, const std::string& where) {
    if (!list.is_array()) fail<WeightError>("{}: is not a list", where);
    for (const Json& value : list) {
      const AddedToken token = read_added_token(value, where, false);
      add(token_id(value.is_object() ? value.value("id", Json()) : Json(), token.content, where), token, where);
    }
  }

  // tokenizer_config.json, and the three older files in folders from before added_tokens_decoder.
  void read_added_tokens(const Json& whole) {
    Json config = Json::object();
    if (files.tokenizer_config) {
      const std::string where = at("tokenizer_config.json");
      read_tokenizer_config(v, *files.tokenizer_config, where);
      config = parse_object(*files.tokenizer_config, where);
      specials.read(config, where, SpecialTokens::Objects::plain);
    }
    if (const Json decoder = config.value("added_tokens_decoder", Json()); !decoder.is_null()) {
      const std::string where = at("tokenizer_config.json: added_tokens_decoder");
      if (!decoder.is_object()) fail<WeightError>("{}: is {}, expected an object", where, decoder.dump());
      read_decoder(decoder, where);
    } else {
      if (files.special_tokens_map) {
        const std::string where = at("special_tokens_map.json");
        specials.read(parse_object(*files.special_tokens_map, where), where, SpecialTokens::Objects::special);
      }
      if (files.added_tokens) {
        const std::string where = at("added_tokens.json");
        read_legacy(parse_object(*files.added_tokens, where), where);
      }
      if (whole.is_object() && whole.contains("added_tokens")) read_list(whole.at("added_tokens"), at("tokenizer.json: added_tokens"));
    }

    for (const char* name : special_names)
      if (const auto it = specials.by_name.find(name); it != specials.by_name.end()) add_special(it->second, name);
    for (const AddedToken& token : specials.additional) add_special(token, "additional_special_tokens");
  }

  // Every special token is also an added token; an existing entry keeps its flags.
  void add_special(AddedToken token, const char* name) {
    const int32_t id = tokens.find(token.content);
    if (id < 0) fail<WeightError>("{}: {} '{}' is not in the vocabulary", files.where, name, token.content);
    token.special = true;
    v.added.emplace(id, token);
  }

  bool has_role(const AddedToken& token) const {
    return std::any_of(specials.by_name.begin(), specials.by_name.end(),
                       [&](const auto& named) { return named.second.content == token.content; });
  }

  NamedId role(const char* name) const {
    const auto it = specials.by_name.find(name);
    if (it == specials.by_name.end()) fail<WeightError>("{}: {} is null, expected a token", files.where, name);
    return {it->second.content, tokens.find(it->second.content)};
  }
};

}  // namespace

ClipFiles ClipFiles::read(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder)) fail<IoError>("{}: no such folder, expected a tokenizer folder", folder.string());
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
  Reader r{files};
  Json whole;
  if (files.tokenizer_json) whole = parse_object(*files.tokenizer_json, r.at("tokenizer.json"));
  const bool from_whole = files.tokenizer_json && !files.vocab_json && !files.merges_txt;
  if (from_whole) {
    read_tokenizer_json(r.v, r.tokens, whole, r.at("tokenizer.json"));
  } else {
    if (!files.vocab_json) fail<IoError>("{}: missing, expected next to merges.txt (or tokenizer.json alone)", r.at("vocab.json"));
    if (!files.merges_txt) fail<IoError>("{}: missing, expected next to vocab.json (or tokenizer.json alone)", r.at("merges.txt"));
    read_vocabulary(r.tokens, parse_object(*files.vocab_json, r.at("vocab.json")), r.at("vocab.json"));
    r.v.merges = read_merges(r.tokens, *files.merges_txt, r.at("merges.txt"));
  }

  const auto base_size = int32_t(r.tokens.size());
  r.read_added_tokens(whole);
  // The reference prints user-defined tokens, special or not, between spaces, but not those with a role.
  for (const auto& [id, token] : r.v.added)
    if (!token.special || (id >= base_size && !r.has_role(token))) r.v.spaced.insert(id);

  const NamedId start = r.role("bos_token"), end = r.role("eos_token");
  r.v.bos = start.second;
  r.v.eos = end.second;
  r.v.pad = r.role("pad_token").second;
  r.v.unk = r.role("unk_token").second;
  if (from_whole) check_post_processor(start, end, whole, r.at("tokenizer.json"));
  r.v.tokens = r.tokens.entries();
  return std::move(r.v);
}

}  // namespace hearth::text
