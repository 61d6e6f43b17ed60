#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"
#include "text/tokenizer/readers.h"
#include "text/tokenizer/stage_reader.h"

namespace hearth::text::pipeline {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

Json load_object(const fs::path& file) {
  if (!fs::exists(file)) return nullptr;
  Json json = load_json(file);
  if (!json.is_object()) fail<WeightError>("{}: an object was needed", file.string());
  return json;
}

std::string text_of(const Json& object, const char* name) {
  return object.is_object() && object.contains(name) && object[name].is_string() ? object[name].get<std::string>() : std::string();
}

// transformers' TOKENIZER_MAPPING, for families whose class does more than the plain one.
std::string class_of_model_type(const std::string& type) {
  static constexpr std::pair<const char*, const char*> classes[] = {
      {"llama", "LlamaTokenizer"}, {"mistral", "LlamaTokenizer"},    {"mixtral", "LlamaTokenizer"},   {"phi3", "LlamaTokenizer"},
      {"gemma", "GemmaTokenizer"}, {"gemma2", "GemmaTokenizer"},     {"gemma3", "GemmaTokenizer"},    {"gemma3_text", "GemmaTokenizer"},
      {"qwen2", "Qwen2Tokenizer"}, {"qwen3", "Qwen2Tokenizer"},      {"qwen2_moe", "Qwen2Tokenizer"}, {"qwen3_moe", "Qwen2Tokenizer"},
      {"gpt2", "GPT2Tokenizer"},   {"gpt_neox", "GPTNeoXTokenizer"}, {"cohere", "CohereTokenizer"},   {"t5", "T5Tokenizer"},
      {"mt5", "T5Tokenizer"},      {"umt5", "T5Tokenizer"},          {"bert", "BertTokenizer"}};
  for (const auto& [name, tokenizer] : classes)
    if (type == name) return tokenizer;
  return {};
}

// What a class's constructor says where the configuration does not.
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
    fail<WeightError>("tokenizer_config.json: \"{}\" is {}, true or false was needed", name, short_dump(config[name]));
  return config[name].get<bool>();
}

// A special token is written as a text or as an object.
AddedToken special_token_of(const Json& json, bool always_special) {
  if (json.is_string()) return {.content = json.get<std::string>(), .normalized = false, .special = true};
  AddedToken token = added_token_of(json);
  if (always_special) token.special = true;
  return token;
}

constexpr const char* attributes[] = {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};
constexpr const char* additional = "additional_special_tokens";

// The configuration with what special_tokens_map.json says over it, which counts only beside configurations of the older form.
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

// Tokens by id that the configuration adds: added_tokens_decoder, or added_tokens.json.
std::map<int64_t, AddedToken> configured_tokens(const FolderConfig& folder, const Json& config, const std::vector<std::string>& special) {
  std::map<int64_t, AddedToken> tokens;
  if (config.contains("added_tokens_decoder")) {
    const Json& decoder = config["added_tokens_decoder"];
    if (!decoder.is_object())
      fail<WeightError>("tokenizer_config.json: \"added_tokens_decoder\" is {}, an object was needed", short_dump(decoder));
    for (const auto& [id, token] : decoder.items()) {
      if (id.empty() || id.size() > 9 || id.find_first_not_of("0123456789") != id.npos)
        fail<WeightError>("tokenizer_config.json: \"added_tokens_decoder\" has the id '{}'", id);
      tokens[std::stoll(id)] = added_token_of(token);
    }
  } else if (!folder.added_tokens->is_null()) {
    for (const auto& [content, id] : folder.added_tokens->items()) {
      if (!id.is_number_integer()) fail<WeightError>("added_tokens.json: '{}' has the id {}", content, short_dump(id));
      const bool is_special = std::find(special.begin(), special.end(), content) != special.end();
      tokens[id.get<int64_t>()] = {.content = content, .normalized = !is_special, .special = is_special};
    }
  }
  return tokens;
}

}  // namespace

FolderConfig FolderConfig::read(const fs::path& folder) {
  FolderConfig read;
  Json config = load_object(folder / "tokenizer_config.json");
  read.config = std::make_shared<Json>(config.is_null() ? Json::object() : std::move(config));
  read.special_tokens_map = std::make_shared<Json>(load_object(folder / "special_tokens_map.json"));
  read.added_tokens = std::make_shared<Json>(load_object(folder / "added_tokens.json"));
  read.tokenizer_class = text_of(*read.config, "tokenizer_class");
  if (read.tokenizer_class.empty()) {
    const Json model = load_object(folder / "config.json");
    read.tokenizer_class = text_of(model, "tokenizer_class");
    if (read.tokenizer_class.empty()) read.tokenizer_class = class_of_model_type(text_of(model, "model_type"));
  }
  if (read.tokenizer_class.ends_with("Fast")) read.tokenizer_class.resize(read.tokenizer_class.size() - 4);
  return read;
}

int64_t extra_ids(const FolderConfig& folder) {
  const Json& config = *folder.config;
  if (!config.contains("extra_ids")) return 100;
  const Json& count = config["extra_ids"];
  if (!count.is_number_integer() || count < 0 || count > 100'000)
    fail<WeightError>("tokenizer_config.json: \"extra_ids\" is {}, a number from 0 to 100000 was needed", short_dump(count));
  return count.get<int64_t>();
}

bool prefers_sentencepiece(const FolderConfig& folder) {
  const bool class_asks = folder.tokenizer_class == "LlamaTokenizer" || folder.tokenizer_class == "T5Tokenizer";
  return class_asks && folder.config->contains("add_prefix_space") && !(*folder.config)["add_prefix_space"].is_null();
}

void apply_class(TokenizerFile& file, const FolderConfig& folder) {
  const Json& config = *folder.config;
  // Every fast tokenizer of transformers sets this switch of a ByteLevel that is not within a Sequence, false by default.
  if (Json& stage = (*file.rest)["pre_tokenizer"];
      stage.is_object() && stage.contains("add_prefix_space") && text_of(stage, "type") == "ByteLevel")
    if (!config.contains("add_prefix_space") || config["add_prefix_space"].is_boolean())
      stage["add_prefix_space"] = flag(config, "add_prefix_space", false);
  if (folder.tokenizer_class != "BertTokenizer") return;
  if (Json& stage = (*file.rest)["normalizer"]; text_of(stage, "type") == "BertNormalizer") {
    stage["lowercase"] = flag(config, "do_lower_case", true);
    stage["strip_accents"] = config.value("strip_accents", Json());
    stage["handle_chinese_chars"] = flag(config, "tokenize_chinese_chars", true);
  }
}

void apply_config(Tokenizer::Data& data, const FolderConfig& folder) {
  Json config = merged_config(folder);
  const ClassDefaults* defaults = defaults_of(folder.tokenizer_class);
  if (defaults)
    for (const auto& [name, token] : defaults->tokens)
      if (name && !config.contains(name)) config[name] = token;
  if (folder.tokenizer_class == "T5Tokenizer" && (!config.contains(additional) || config[additional].is_null())) {
    config[additional] = Json::array();
    const int64_t count = extra_ids(folder);
    for (int64_t i = 0; i < count; ++i) config[additional].push_back(fmt::format("<extra_id_{}>", i));
  }

  std::vector<AddedToken> special;
  const auto add_special = [&](const Json& json) {
    const AddedToken token = special_token_of(json, false);
    if (std::ranges::find(special, token.content, &AddedToken::content) == special.end()) special.push_back(token);
    return token.content;
  };
  for (const char* name : attributes)
    if (config.contains(name) && !config[name].is_null()) data.specials[name] = add_special(config[name]);
  if (config.contains(additional) && config[additional].is_array())
    for (const Json& token : config[additional]) add_special(token);
  std::vector<std::string> contents;
  for (const AddedToken& token : special) contents.push_back(token.content);

  // First the configured tokens that are new or have other flags, then the special ones that are not there yet.
  std::vector<AddedToken> missing;
  const auto known = [&](const AddedToken& token) {
    const AddedToken* there = data.added.token(data.added.find(token.content));
    return there && *there == token;
  };
  std::vector<std::string> there;
  for (const auto& [id, token] : data.added.tokens()) there.push_back(token.content);
  for (auto [id, token] : configured_tokens(folder, config, contents)) {
    if (known(token)) continue;
    token.special = token.special || std::ranges::find(contents, token.content) != contents.end();
    missing.push_back(token);
    there.push_back(token.content);
  }
  for (AddedToken token : special) {
    if (std::ranges::find(there, token.content) != there.end()) continue;
    token.special = true;
    missing.push_back(token);
  }
  for (const AddedToken& token : missing) data.added.add(token, *data.model);

  if (defaults && defaults->sets_post_processor) {
    data.post_processor.pieces.clear();
    const auto put = [&](const char* name) {
      const auto token = data.specials.find(name);
      const std::optional<int32_t> id = token == data.specials.end() ? std::nullopt : data.find(token->second);
      if (!id) fail<WeightError>("tokenizer_config.json: the text gets a {}, but there is none", name);
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
