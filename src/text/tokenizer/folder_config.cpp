#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/json.h"
#include "text/tokenizer/readers.h"
#include "text/tokenizer/stage_reader.h"

namespace hearth::text::pipeline {
namespace {

using Json = nlohmann::json;

Json load_object(const TokenizerFiles& files, const std::string& name) {
  const auto file = files.read(name);
  if (!file) return nullptr;
  Json json = parse_json(file->text, file->where);
  if (!json.is_object()) fail<WeightError>("{}: the contents are not an object, expected a JSON object", file->where);
  return json;
}

std::string text_of(const Json& object, const char* name) {
  return object.is_object() && object.contains(name) && object[name].is_string() ? object[name].get<std::string>() : std::string();
}

// transformers' TOKENIZER_MAPPING: that of `families`, and that of other models whose tokenizer can be used alone.
std::string class_of_model_type(const std::string& type, std::span<const FamilyClass> families) {
  static constexpr FamilyClass others[] = {{"gemma", "GemmaTokenizer"}, {"gpt2", "GPT2Tokenizer"}, {"gpt_neox", "GPTNeoXTokenizer"},
                                           {"t5", "T5Tokenizer"},       {"mt5", "T5Tokenizer"},    {"umt5", "T5Tokenizer"},
                                           {"bert", "BertTokenizer"}};
  for (const std::span<const FamilyClass> list : {families, std::span<const FamilyClass>(others)})
    if (const auto found = std::ranges::find(list, type, &FamilyClass::model_type); found != list.end())
      return std::string(found->tokenizer_class);
  return {};
}

// The defaults of a class's constructor.
struct ClassDefaults {
  const char* name;
  std::array<std::pair<const char*, const char*>, 7> tokens;
  bool sets_post_processor = false, add_bos = false;
};
constexpr ClassDefaults class_defaults[] = {
    {"LlamaTokenizer", {{{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}}}, true, true},
    {"GemmaTokenizer", {{{"bos_token", "<bos>"}, {"eos_token", "<eos>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}}}, true, true},
    {"CohereTokenizer", {{{"bos_token", "<BOS_TOKEN>"}, {"eos_token", "<|END_OF_TURN_TOKEN|>"}, {"unk_token", "<UNK>"}}}, true, true},
    {"GPTNeoXTokenizer", {{{"bos_token", "<|endoftext|>"}, {"eos_token", "<|endoftext|>"}, {"unk_token", "<|endoftext|>"}}}, true, false},
    {"GPT2Tokenizer", {{{"bos_token", "<|endoftext|>"}, {"eos_token", "<|endoftext|>"}, {"unk_token", "<|endoftext|>"}}}},
    {"Qwen2Tokenizer", {{{"eos_token", "<|endoftext|>"}, {"unk_token", "<|endoftext|>"}, {"pad_token", "<|endoftext|>"}}}},
    {"T5Tokenizer", {{{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}}}},
    {"BertTokenizer",
     {{{"unk_token", "[UNK]"}, {"sep_token", "[SEP]"}, {"pad_token", "[PAD]"}, {"cls_token", "[CLS]"}, {"mask_token", "[MASK]"}}}},
};
const ClassDefaults* defaults_of(const std::string& tokenizer_class) {
  for (const ClassDefaults& c : class_defaults)
    if (tokenizer_class == c.name) return &c;
  return nullptr;
}

bool flag(const Json& config, const char* name, bool otherwise) {
  if (!config.contains(name) || config[name].is_null()) return otherwise;
  if (!config[name].is_boolean())
    fail<WeightError>("tokenizer_config.json: \"{}\" is {}, expected true or false", name, short_dump(config[name]));
  return config[name].get<bool>();
}

// A special token is a text, or an object with flags.
struct SpecialToken {
  AddedToken token;
  bool has_flags;
};
SpecialToken special_token_of(const Json& json) {
  if (json.is_string()) return {{.content = json.get<std::string>(), .normalized = false, .special = true}, false};
  return {added_token_of(json), true};
}

constexpr const char* attributes[] = {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};
constexpr const char* additional = "additional_special_tokens";

// The configuration, overridden by special_tokens_map.json, which applies only to configurations of the older form.
Json merged_config(const FolderConfig& folder) {
  Json config = *folder.config;
  if (config.contains("added_tokens_decoder") || folder.special_tokens_map->is_null()) return config;
  for (const auto& [key, value] : folder.special_tokens_map->items()) {
    if (key != additional || !value.is_array()) {
      config[key] = value;
      if (value.is_object()) config[key]["special"] = true;
      continue;
    }
    Json& list = config[additional];
    if (!list.is_array()) list = Json::array();
    for (Json token : value) {
      if (token.is_object()) token["special"] = true;
      if (std::find(list.begin(), list.end(), token) == list.end()) list.push_back(std::move(token));
    }
  }
  return config;
}

bool one_of(std::string_view text, std::initializer_list<std::string_view> list) { return std::ranges::find(list, text) != list.end(); }

bool names(const std::vector<SpecialToken>& special, const std::string& content) {
  return std::ranges::any_of(special, [&](const SpecialToken& s) { return s.token.content == content; });
}

// The tokens by id that the configuration adds: added_tokens_decoder, or else added_tokens.json and the added tokens of tokenizer.json.
std::map<int64_t, AddedToken> configured_tokens(const FolderConfig& folder, const Json& config, const std::vector<SpecialToken>& special,
                                                const AddedVocabulary& added) {
  std::map<int64_t, AddedToken> tokens;
  if (config.contains("added_tokens_decoder")) {
    const Json& decoder = config["added_tokens_decoder"];
    if (!decoder.is_object())
      fail<WeightError>("tokenizer_config.json: \"added_tokens_decoder\" is {}, expected an object", short_dump(decoder));
    for (const auto& [id, token] : decoder.items()) {
      if (id.empty() || id.size() > 9 || id.find_first_not_of("0123456789") != id.npos)
        fail<WeightError>("tokenizer_config.json: \"added_tokens_decoder\" has the id '{}'", id);
      tokens[std::stoll(id)] = added_token_of(token);
    }
    return tokens;
  }
  if (!folder.added_tokens->is_null())
    for (const auto& [content, id] : folder.added_tokens->items()) {
      if (!id.is_number_integer()) fail<WeightError>("added_tokens.json: '{}' has the id {}", content, short_dump(id));
      tokens[id.get<int64_t>()] = {.content = content, .normalized = !names(special, content)};
    }
  for (const auto& [id, token] : added.tokens()) tokens[id] = token;
  return tokens;
}

auto of_content(const std::map<int64_t, AddedToken>& tokens, const std::string& content) {
  return std::ranges::find_if(tokens, [&](const auto& entry) { return entry.second.content == content; });
}

// Adds first the configured tokens, with those that are named special marked as such. Then adds the special tokens: a text only if no token
// has that spelling yet; an object with flags replaces an existing token.
std::vector<AddedToken> tokens_to_add(const std::vector<SpecialToken>& special, const std::map<int64_t, AddedToken>& configured,
                                      const AddedVocabulary& added) {
  std::vector<AddedToken> tokens;
  for (auto [id, token] : configured) {
    token.special = token.special || names(special, token.content);
    tokens.push_back(token);
  }
  const auto is_there = [&](const SpecialToken& s) {
    if (s.has_flags) return std::ranges::any_of(configured, [&](const auto& entry) { return entry.second == s.token; });
    return added.find(s.token.content) >= 0 || of_content(configured, s.token.content) != configured.end();
  };
  for (SpecialToken s : special) {
    if (is_there(s)) continue;
    s.token.special = true;
    tokens.push_back(s.token);
  }
  return tokens;
}

// T5's class adds "<extra_id_0>" … if none of them is an additional special token.
void add_extra_ids(Json& config, int64_t count) {
  Json& tokens = config[additional];
  if (!tokens.is_array()) tokens = Json::array();
  const auto is_extra = [](const Json& token) { return special_token_of(token).token.content.find("<extra_id_") != std::string::npos; };
  if (std::any_of(tokens.begin(), tokens.end(), is_extra)) return;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(fmt::format("<extra_id_{}>", i));
}

}  // namespace

FolderConfig FolderConfig::read(const TokenizerFiles& files, std::span<const FamilyClass> classes) {
  FolderConfig read;
  Json config = load_object(files, "tokenizer_config.json");
  read.config = std::make_shared<Json>(config.is_null() ? Json::object() : std::move(config));
  read.special_tokens_map = std::make_shared<Json>(load_object(files, "special_tokens_map.json"));
  read.added_tokens = std::make_shared<Json>(load_object(files, "added_tokens.json"));
  read.tokenizer_class = files.tokenizer_class.empty() ? text_of(*read.config, "tokenizer_class") : files.tokenizer_class;
  if (read.tokenizer_class.empty()) {
    const Json model = load_object(files, "config.json");
    read.tokenizer_class = text_of(model, "tokenizer_class");
    if (read.tokenizer_class.empty()) read.tokenizer_class = class_of_model_type(text_of(model, "model_type"), classes);
  }
  if (read.tokenizer_class.ends_with("Fast")) read.tokenizer_class.resize(read.tokenizer_class.size() - 4);
  if (const auto own = std::ranges::find(classes, read.tokenizer_class, &FamilyClass::own_class);
      own != classes.end() && !own->own_class.empty()) {
    read.tokenizer_class = own->tokenizer_class;
    read.own_class = true;
  }
  return read;
}

int64_t extra_ids(const FolderConfig& folder) {
  const Json& config = *folder.config;
  if (!config.contains("extra_ids")) return 100;
  const Json& count = config["extra_ids"];
  if (!count.is_number_integer() || count < 0 || count > 100'000)
    fail<WeightError>("tokenizer_config.json: \"extra_ids\" is {}, expected a number from 0 to 100000", short_dump(count));
  return count.get<int64_t>();
}

bool prefers_sentencepiece(const FolderConfig& folder) {
  const bool class_asks = folder.tokenizer_class == "LlamaTokenizer" || folder.tokenizer_class == "T5Tokenizer";
  return class_asks && folder.config->contains("add_prefix_space") && !(*folder.config)["add_prefix_space"].is_null();
}

void apply_class(TokenizerFile& file, const FolderConfig& folder) {
  const Json& config = *folder.config;
  // Every fast tokenizer of transformers sets this switch of a ByteLevel that is not inside a Sequence, by default to false. LlamaTokenizer
  // and T5Tokenizer do not change it unless the configuration names it.
  const bool keeps = folder.tokenizer_class == "LlamaTokenizer" || folder.tokenizer_class == "T5Tokenizer";
  if (Json& stage = (*file.rest)["pre_tokenizer"];
      stage.is_object() && stage.contains("add_prefix_space") && text_of(stage, "type") == "ByteLevel")
    if (config.contains("add_prefix_space") ? config["add_prefix_space"].is_boolean() : !keeps)
      stage["add_prefix_space"] = flag(config, "add_prefix_space", false);
  if (folder.tokenizer_class != "BertTokenizer") return;
  if (Json& stage = (*file.rest)["normalizer"]; text_of(stage, "type") == "BertNormalizer") {
    stage["lowercase"] = flag(config, "do_lower_case", true);
    stage["strip_accents"] = config.value("strip_accents", Json());
    stage["handle_chinese_chars"] = flag(config, "tokenize_chinese_chars", true);
  }
}

void apply_config(Tokenizer::Data& data, const FolderConfig& folder) {
  const Json given = merged_config(folder);
  Json config = given;
  const ClassDefaults* defaults = defaults_of(folder.tokenizer_class);
  if (defaults)
    for (const auto& [name, token] : defaults->tokens)
      if (name && !config.contains(name)) config[name] = token;
  if (folder.tokenizer_class == "T5Tokenizer") add_extra_ids(config, extra_ids(folder));

  std::vector<SpecialToken> special;
  const auto add_special = [&](const Json& json) {
    const SpecialToken token = special_token_of(json);
    if (!names(special, token.token.content)) special.push_back(token);
    return token.token.content;
  };
  for (const char* name : attributes)
    if (config.contains(name) && !config[name].is_null()) data.specials[name] = add_special(config[name]);
  if (config.contains(additional) && config[additional].is_array())
    for (const Json& token : config[additional]) add_special(token);

  const std::map<int64_t, AddedToken> configured = configured_tokens(folder, config, special, data.added);
  // A token that the configuration names by its spelling has the flags of the configured token; Qwen2Tokenizer gives some tokens other
  // flags.
  for (SpecialToken& s : special) {
    const auto name = std::ranges::find_if(attributes, [&](const char* a) {
      const auto own = data.specials.find(a);
      return own != data.specials.end() && own->second == s.token.content;
    });
    if (name == std::end(attributes)) continue;
    if (const auto entry = of_content(configured, s.token.content); entry != configured.end() && given.contains(*name))
      s = {entry->second, true};
    else if (folder.tokenizer_class == "Qwen2Tokenizer" && one_of(*name, {"bos_token", "eos_token", "unk_token", "pad_token"}))
      s.has_flags = true;
  }

  for (const AddedToken& token : tokens_to_add(special, configured, data.added)) data.added.add(token, *data.model);

  if (defaults && defaults->sets_post_processor) {
    data.post_processor.pieces.clear();
    const auto put = [&](const char* name) {
      const auto token = data.specials.find(name);
      const std::optional<int32_t> id = token == data.specials.end() ? std::nullopt : data.find(token->second);
      if (!id) fail<WeightError>("tokenizer_config.json: the {} must be added to the text, but it is not set", name);
      data.post_processor.pieces.push_back({.text = false, .ids = {*id}});
    };
    if (flag(config, "add_bos_token", defaults->add_bos)) put("bos_token");
    data.post_processor.pieces.push_back({.text = true, .ids = {}});
    if (flag(config, "add_eos_token", false)) put("eos_token");
  }
  data.clean_up = flag(config, "clean_up_tokenization_spaces", false);
  data.split_special_tokens = flag(config, "split_special_tokens", false);
  data.added.finish(data.normalizer.get());
}

}  // namespace hearth::text::pipeline
