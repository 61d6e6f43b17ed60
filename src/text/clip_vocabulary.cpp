#include "text/clip_vocabulary.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/config.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"

namespace hearth::text {

namespace {

using Json = nlohmann::json;

// A file's content, which must be an object.
Json parse_object(const std::string& text, const std::string& where) {
  Json json = parse_json(text, where);
  if (!json.is_object()) fail<IoError>("{}: holds no JSON object", where);
  return json;
}

int32_t token_id(const Json& value, const std::string& token, const std::string& where) {
  const bool good = value.is_number_unsigned() && value.get<uint64_t>() <= uint64_t(INT32_MAX);
  if (!good) fail<WeightError>("{}: token '{}' has id {}, needed an integer from 0 to {}", where, token, value.dump(), INT32_MAX);
  return int32_t(value.get<uint64_t>());
}

void insert(ClipVocabulary& v, const std::string& token, int32_t id, const std::string& where) {
  const auto [by_name, new_name] = v.ids.emplace(token, id);
  if (!new_name && by_name->second != id)
    fail<WeightError>("{}: token '{}' has id {}, elsewhere it has {}", where, token, id, by_name->second);
  const auto [by_id, new_id] = v.tokens.emplace(id, token);
  if (!new_id && by_id->second != token)
    fail<WeightError>("{}: id {} belongs to '{}' and to '{}', needed one token per id", where, id, by_id->second, token);
  v.max_id = std::max(v.max_id, id);
}

void read_vocabulary(ClipVocabulary& v, const Json& vocabulary, const std::string& where) {
  if (!vocabulary.is_object() || vocabulary.empty()) fail<WeightError>("{}: holds no tokens", where);
  v.ids.reserve(vocabulary.size() + 64);
  v.tokens.reserve(vocabulary.size() + 64);
  for (const auto& [token, id] : vocabulary.items()) insert(v, token, token_id(id, token, where), where);
}

void add_merge(ClipVocabulary& v, std::set<std::pair<int32_t, int32_t>>& seen, const std::string& left, const std::string& right,
               const std::string& where) {
  const auto id_of = [&](const std::string& token) {
    const auto it = v.ids.find(token);
    if (it == v.ids.end())
      fail<WeightError>("{}: the merge '{} {}' needs the token '{}', which the vocabulary lacks", where, left, right, token);
    return it->second;
  };
  const BytePairs::Merge merge{id_of(left), id_of(right), id_of(left + right)};
  if (!seen.emplace(merge.left, merge.right).second) fail<WeightError>("{}: the merge '{} {}' occurs twice", where, left, right);
  v.merges.push_back(merge);
}

void read_merges(ClipVocabulary& v, const std::string& text, const std::string& where) {
  // The reference reads at most this many: 49152 − 512 bytes − 2 special tokens + 256. The rest of a longer file is not CLIP's.
  constexpr size_t most = 49152 - 256 - 2;
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line.find("#version") == std::string::npos)
    fail<WeightError>("{}: line 1 is '{}', needed '#version: …'", where, line.substr(0, 80));
  std::set<std::pair<int32_t, int32_t>> seen;
  size_t empty_lines = 0;
  for (size_t number = 2; std::getline(lines, line) && v.merges.size() < most; ++number) {
    std::istringstream words(line);
    std::string left, right, more;
    if (!(words >> left)) {
      ++empty_lines;  // allowed at the end only
      continue;
    }
    if (!(words >> right) || words >> more || empty_lines > 0)
      fail<WeightError>("{}: line {} is '{}', needed two pieces", where, empty_lines > 0 ? number - 1 : number,
                        empty_lines > 0 ? "" : line.substr(0, 80));
    add_merge(v, seen, left, right, fmt::format("{}, line {}", where, number));
  }
}

// A token in any of its published spellings: a string, or an object with the flags of transformers' AddedToken.
AddedToken read_token(const Json& value, const std::string& where) {
  AddedToken token;
  if (value.is_string()) {
    token.content = value.get<std::string>();
  } else if (value.is_object()) {
    for (const auto& [key, entry] : value.items()) {
      bool* flag = key == "lstrip"        ? &token.lstrip
                   : key == "rstrip"      ? &token.rstrip
                   : key == "single_word" ? &token.single_word
                   : key == "normalized"  ? &token.normalized
                   : key == "special"     ? &token.special
                                          : nullptr;
      if (key == "content" && entry.is_string()) token.content = entry.get<std::string>();
      else if (flag && entry.is_boolean()) *flag = entry.get<bool>();
      else if (key != "__type" && key != "id") fail<WeightError>("{}: '{}' of a token is {}", where, key, entry.dump());
    }
  } else {
    fail<WeightError>("{}: a token is {}, needed a text or an object", where, value.dump());
  }
  if (token.content.empty()) fail<WeightError>("{}: a token is empty", where);
  return token;
}

// The names under which a configuration lists special tokens, in the order in which the reference looks at them.
constexpr const char* special_names[] = {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

struct Specials {
  std::map<std::string, AddedToken> by_name;
  std::vector<AddedToken> additional;
};

void read_specials(Specials& specials, const Json& json, const std::string& where, bool replace_additional) {
  for (const char* name : special_names) {
    const auto it = json.find(name);
    if (it == json.end()) continue;
    if (it->is_null()) specials.by_name.erase(name);
    else specials.by_name[name] = read_token(*it, fmt::format("{}: {}", where, name));
  }
  const auto it = json.find("additional_special_tokens");
  if (it == json.end() || it->is_null()) return;
  if (!it->is_array()) fail<WeightError>("{}: additional_special_tokens is {}, needed a list", where, it->dump());
  if (replace_additional) specials.additional.clear();
  for (const Json& value : *it) {
    AddedToken token = read_token(value, where + ": additional_special_tokens");
    const auto same = [&](const AddedToken& other) { return other.content == token.content; };
    if (std::none_of(specials.additional.begin(), specials.additional.end(), same)) specials.additional.push_back(std::move(token));
  }
}

// tokenizer_config.json: what it says about lengths and decoding; everything that would change ids and is not built is refused.
void read_config(ClipVocabulary& v, const std::string& text, const std::string& where) {
  const Config c = Config::parse(text, where);
  c.only("tokenizer_class", {"CLIPTokenizer", "CLIPTokenizerFast"});
  c.only("add_prefix_space", false);
  c.only("do_lower_case", true);
  c.only("split_special_tokens", false);
  c.only("errors", {"replace"});
  c.only("padding_side", {"right"});
  c.only("truncation_side", {"right"});
  c.only("add_bos_token", true);
  c.only("add_eos_token", true);
  if (const std::string extra = c.dump("extra_special_tokens"); extra != "null" && extra != "{}" && extra != "[]")
    fail<UnsupportedError>("{}: extra_special_tokens = {} is not supported", where, extra);
  v.clean_up_spaces = c.boolean("clean_up_tokenization_spaces", false);
  // Without a limit of its own a tokenizer says 10³⁰.
  if (const double length = c.number("model_max_length", 1e30); length < 1e20) v.model_max_length = c.integer("model_max_length");
  if (v.model_max_length < 2) fail<WeightError>("{}: model_max_length is {}, needed at least 2", where, v.model_max_length);
  for (const char* name : special_names) c.has(name);
  c.has("additional_special_tokens");
  c.has("added_tokens_decoder");
  c.no_effect({"name_or_path",
               "special_tokens_map_file",
               "tokenizer_file",
               "processor_class",
               "use_fast",
               "auto_map",
               "backend",
               "is_local",
               "local_files_only",
               "trust_remote_code",
               "model_input_names",
               "max_len",
               "image_processor_type",
               "feature_extractor_type",
               "_commit_hash",
               "subfolder",
               "revision",
               "token",
               "cache_dir",
               "chat_template"});
  c.finish();
}

void require(const Json& json, const char* name, const Json& needed, const std::string& where) {
  const auto it = json.find(name);
  const Json value = it == json.end() ? Json() : *it;
  const auto shortened = [](const Json& j) {
    const std::string text = j.dump(-1, ' ', false, Json::error_handler_t::replace);
    return text.size() > 160 ? text.substr(0, 157) + "…" : text;
  };
  if (value != needed) fail<UnsupportedError>("{}: {} is {}, CLIP's is {}", where, name, shortened(value), shortened(needed));
}

const Json& member(const Json& json, const char* name, Json::value_t type, const std::string& where) {
  const auto it = json.find(name);
  if (it == json.end() || it->type() != type) fail<WeightError>("{}: '{}' is missing or of another type", where, name);
  return *it;
}

// tokenizer.json of the library tokenizers: the model, once every other stage has proved to be CLIP's.
void read_tokenizer_json(ClipVocabulary& v, const Json& json, const std::string& where) {
  require(json, "normalizer",
          {{"type", "Sequence"},
           {"normalizers",
            {{{"type", "NFC"}}, {{"type", "Replace"}, {"pattern", {{"Regex", "\\s+"}}}, {"content", " "}}, {{"type", "Lowercase"}}}}},
          where);
  const std::string words = R"('s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)";
  const std::string with_specials = R"(<\|startoftext\|>|<\|endoftext\|>|)" + words;
  const auto stages = [](const std::string& pattern, const Json& byte_level) {
    return Json{
        {"type", "Sequence"},
        {"pretokenizers", {{{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Removed"}, {"invert", true}}, byte_level}}};
  };
  // trim_offsets moves offsets, not ids; use_regex is newer than many published files, and true where it is absent.
  Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  if (const auto given = json.find("pre_tokenizer"); given != json.end() && given->is_object() && given->contains("pretokenizers")) {
    const Json& list = given->at("pretokenizers");
    if (list.is_array() && list.size() == 2 && list[1].is_object())
      for (const char* name : {"trim_offsets", "use_regex"})
        if (list[1].contains(name)) byte_level[name] = std::string_view(name) == "use_regex" ? Json(true) : list[1].at(name);
  }
  const auto given = json.find("pre_tokenizer");
  if (given != json.end() && *given == stages(with_specials, byte_level)) v.fast_pattern = WordPattern::exact_with_specials;
  else require(json, "pre_tokenizer", stages(words, byte_level), where);

  const Json& model = member(json, "model", Json::value_t::object, where);
  const std::string at = where + ": model";
  require(model, "type", "BPE", at);
  require(model, "end_of_word_suffix", word_end, at);
  for (const char* name : {"fuse_unk", "byte_fallback", "ignore_merges"})
    if (model.contains(name)) require(model, name, false, at);
  if (model.contains("dropout")) require(model, "dropout", nullptr, at);
  if (model.contains("continuing_subword_prefix") && !model.at("continuing_subword_prefix").is_null())
    require(model, "continuing_subword_prefix", "", at);
  read_vocabulary(v, member(model, "vocab", Json::value_t::object, at), at);
  std::set<std::pair<int32_t, int32_t>> seen;
  for (const Json& merge : member(model, "merges", Json::value_t::array, at)) {
    std::string left, right;
    if (merge.is_string() && std::count(merge.get_ref<const std::string&>().begin(), merge.get_ref<const std::string&>().end(), ' ') == 1) {
      const std::string both = merge.get<std::string>();
      left = both.substr(0, both.find(' '));
      right = both.substr(both.find(' ') + 1);
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      left = merge[0].get<std::string>();
      right = merge[1].get<std::string>();
    }
    if (left.empty() || right.empty()) fail<WeightError>("{}: a merge is {}, needed two pieces", at, merge.dump());
    add_merge(v, seen, left, right, at);
  }
}

// The post-processor puts these two around the ids. Either shape that the library writes for it.
void check_post_processor(const ClipVocabulary& v, const Json& json, const std::string& where) {
  const Json& post = member(json, "post_processor", Json::value_t::object, where);
  require(post, "type", "RobertaProcessing", where + ": post_processor");
  require(post, "cls", {v.tokens.at(v.bos), v.bos}, where + ": post_processor");
  require(post, "sep", {v.tokens.at(v.eos), v.eos}, where + ": post_processor");
}

int32_t special_id(const ClipVocabulary& v, const Specials& specials, const char* name, const std::string& where) {
  const auto it = specials.by_name.find(name);
  if (it == specials.by_name.end()) fail<WeightError>("{}: {} is null, needed a token", where, name);
  return v.ids.at(it->second.content);
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

  // CLIPTokenizer's own defaults, then tokenizer_config.json, then, in folders written before added_tokens_decoder was
  // invented, special_tokens_map.json, added_tokens.json and the added tokens of tokenizer.json.
  Specials specials;
  specials.by_name["bos_token"].content = "<|startoftext|>";
  for (const char* name : {"eos_token", "unk_token", "pad_token"}) specials.by_name[name].content = "<|endoftext|>";
  specials.by_name["pad_token"].normalized = false;  // the only one that the reference leaves a plain string
  Json config = Json::object();
  if (files.tokenizer_config) {
    read_config(v, *files.tokenizer_config, at("tokenizer_config.json"));
    config = parse_object(*files.tokenizer_config, at("tokenizer_config.json"));
    read_specials(specials, config, at("tokenizer_config.json"), true);
  }
  std::map<int32_t, AddedToken> added;
  if (const auto decoder = config.find("added_tokens_decoder"); decoder != config.end() && decoder->is_object()) {
    const std::string where = at("tokenizer_config.json: added_tokens_decoder");
    for (const auto& [id, value] : decoder->items()) {
      AddedToken token = read_token(value, where);
      if (id.empty() || id.size() > 9 || id.find_first_not_of("0123456789") != std::string::npos)
        fail<WeightError>("{}: token '{}' has id '{}', needed an integer from 0 on", where, token.content, id);
      token.id = std::stoi(id);
      insert(v, token.content, token.id, where);
      added[token.id] = token;
    }
  } else {
    if (files.special_tokens_map)
      read_specials(specials, parse_object(*files.special_tokens_map, at("special_tokens_map.json")), at("special_tokens_map.json"), false);
    if (files.added_tokens) {
      const Json legacy = parse_object(*files.added_tokens, at("added_tokens.json"));
      for (const auto& [content, id] : legacy.items()) {
        AddedToken token{.content = content, .id = token_id(id, content, at("added_tokens.json"))};
        for (const auto& [name, special] : specials.by_name) token.special |= special.content == content;
        for (const AddedToken& special : specials.additional) token.special |= special.content == content;
        token.normalized = !token.special;
        insert(v, content, token.id, at("added_tokens.json"));
        added[token.id] = token;
      }
    }
    if (whole.is_object() && whole.contains("added_tokens")) {
      for (const Json& value : member(whole, "added_tokens", Json::value_t::array, at("tokenizer.json"))) {
        AddedToken token = read_token(value, at("tokenizer.json: added_tokens"));
        token.id = token_id(value.is_object() && value.contains("id") ? value.at("id") : Json(), token.content, at("tokenizer.json"));
        insert(v, token.content, token.id, at("tokenizer.json: added_tokens"));
        added[token.id] = token;
      }
    }
  }

  // Every special token is an added token too; an entry above keeps its flags.
  const auto add_special = [&](const AddedToken& special, const char* name) {
    const auto it = v.ids.find(special.content);
    if (it == v.ids.end()) fail<WeightError>("{}: {} '{}' is in no file of the vocabulary", files.where, name, special.content);
    AddedToken token = special;
    token.id = it->second;
    token.special = true;
    added.emplace(token.id, token);
  };
  for (const char* name : special_names)
    if (const auto it = specials.by_name.find(name); it != specials.by_name.end()) add_special(it->second, name);
  for (const AddedToken& token : specials.additional) add_special(token, "additional_special_tokens");
  for (auto& [id, token] : added) v.added.push_back(token);

  v.bos = special_id(v, specials, "bos_token", files.where);
  v.eos = special_id(v, specials, "eos_token", files.where);
  v.pad = special_id(v, specials, "pad_token", files.where);
  v.unk = special_id(v, specials, "unk_token", files.where);
  if (from_whole) check_post_processor(v, whole, at("tokenizer.json"));
  return v;
}

}  // namespace hearth::text
