#include "text/template/chat_files.h"

#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/files/file.h"
#include "core/files/json.h"

namespace hearth::text {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

constexpr std::array token_names = {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};
constexpr int64_t file_limit = 8'000'000;

// What a tokenizer class sets where the configuration does not name the token.
std::map<std::string, std::string> class_defaults(std::string name) {
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  if (name == "LlamaTokenizer" || name == "CodeLlamaTokenizer")
    return {{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}};
  if (name == "Qwen2Tokenizer") return {{"eos_token", "<|endoftext|>"}, {"pad_token", "<|endoftext|>"}, {"unk_token", "<|endoftext|>"}};
  if (name == "GPT2Tokenizer" || name == "GPTNeoXTokenizer" || name == "CodeGenTokenizer")
    return {{"bos_token", "<|endoftext|>"}, {"eos_token", "<|endoftext|>"}, {"unk_token", "<|endoftext|>"}};
  if (name == "GemmaTokenizer") return {{"bos_token", "<bos>"}, {"eos_token", "<eos>"}, {"pad_token", "<pad>"}, {"unk_token", "<unk>"}};
  if (name == "CohereTokenizer") return {{"bos_token", "<BOS_TOKEN>"}, {"eos_token", "<|END_OF_TURN_TOKEN|>"}, {"unk_token", "<UNK>"}};
  if (name == "BloomTokenizer") return {{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"pad_token", "<pad>"}, {"unk_token", "<unk>"}};
  return {};
}

std::string shown(const Json& value) { return value.dump().substr(0, 80); }

// A token is its text, or an object that holds it.
std::string token_text(const Json& value, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object())
    if (const auto it = value.find("content"); it != value.end() && it->is_string()) return it->get<std::string>();
  fail<WeightError>("{}: a token is {}, expected a text or an object with one", where, shown(value));
}

void read_tokens(const Json& config, const std::string& where, ChatFiles& files) {
  const auto set = [&](const std::string& name, const Json& value) {
    files.special_tokens.erase(name);
    if (value.is_null()) return;
    if (const std::string text = token_text(value, where + ": " + name); !text.empty()) files.special_tokens[name] = text;
  };
  for (const char* name : token_names)
    if (const auto it = config.find(name); it != config.end()) set(name, *it);
  if (const auto it = config.find("extra_special_tokens"); it != config.end() && it->is_object())
    for (const auto& [name, value] : it->items()) set(name, value);
  if (const auto it = config.find("additional_special_tokens"); it != config.end() && it->is_array())
    for (const Json& value : *it) {
      const std::string text = token_text(value, where + ": additional_special_tokens");
      if (std::find(files.additional_tokens.begin(), files.additional_tokens.end(), text) == files.additional_tokens.end())
        files.additional_tokens.push_back(text);
    }
}

void read_templates(const Json& value, const std::string& where, ChatFiles& files) {
  if (value.is_string()) {
    files.templates["default"] = value.get<std::string>();
    return;
  }
  if (!value.is_array() && !value.is_object())
    fail<WeightError>("{}: chat_template is {}, expected a text, a list or an object", where, shown(value));
  for (const auto& [key, entry] : value.items()) {
    const bool listed = value.is_array() && entry.is_object() && entry.contains("name") && entry["name"].is_string();
    const Json* const text = value.is_object() ? &entry : listed && entry.contains("template") ? &entry["template"] : nullptr;
    if (!text || !text->is_string())
      fail<WeightError>("{}: chat_template has an entry {}, expected {}", where, shown(entry),
                        value.is_object() ? "a text" : "\"name\" and \"template\"");
    files.templates[listed ? entry["name"].get<std::string>() : key] = text->get<std::string>();
  }
}

Json object_of(const std::string& text, const fs::path& file) {
  Json json = parse_json(text, file.string());
  if (!json.is_object()) fail<WeightError>("{}: holds {}, expected an object", file.string(), shown(json));
  return json;
}

}  // namespace

ChatFiles ChatFiles::read(const TextOf& text_of, const fs::path& where) {
  ChatFiles files;
  const fs::path config_file = where / "tokenizer_config.json";
  const auto config_text = text_of("tokenizer_config.json");
  const Json config = config_text ? object_of(*config_text, config_file) : Json::object();
  if (const auto it = config.find("tokenizer_class"); it != config.end() && it->is_string())
    files.special_tokens = class_defaults(it->get<std::string>());
  read_tokens(config, config_file.string(), files);
  // Once the configuration lists the added tokens, the older file is not looked at.
  if (!config.contains("added_tokens_decoder"))
    if (const auto map = text_of("special_tokens_map.json")) {
      const fs::path map_file = where / "special_tokens_map.json";
      read_tokens(object_of(*map, map_file), map_file.string(), files);
    }

  if (auto text = text_of("chat_template.jinja")) {
    files.templates["default"] = std::move(*text);
    return files;
  }
  const auto older = text_of("chat_template.json");
  const auto take = [&](const Json& json, const fs::path& file) {
    const auto it = json.find("chat_template");
    if (it == json.end() || it->is_null()) return false;
    read_templates(*it, file.string(), files);
    return true;
  };
  const fs::path older_file = where / "chat_template.json";
  if (!older || !take(object_of(*older, older_file), older_file)) take(config, config_file);
  return files;
}

ChatFiles ChatFiles::read(const fs::path& folder) {
  const auto text_of = [&](const std::string& name) {
    const fs::path file = folder / name;
    return fs::exists(file) ? std::optional(read_file(file, file_limit)) : std::nullopt;
  };
  std::map<std::string, std::string> named;
  if (const fs::path more = folder / "additional_chat_templates"; fs::is_directory(more)) {
    for (const auto& entry : fs::directory_iterator(more))
      if (entry.path().extension() == ".jinja") named[entry.path().stem().string()] = read_file(entry.path(), file_limit);
  }
  ChatFiles files = read(text_of, folder);
  if (named.empty()) return files;
  if (!fs::exists(folder / "chat_template.jinja")) files.templates.clear();  // those of the older files do not count
  for (auto& [name, text] : named) files.templates[name] = std::move(text);
  return files;
}

}  // namespace hearth::text
