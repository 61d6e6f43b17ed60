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

Json load_object(const fs::path& file) {
  Json json = load_json(file);
  if (!json.is_object()) fail<WeightError>("{}: holds {}, expected an object", file.string(), shown(json));
  return json;
}

}  // namespace

ChatFiles ChatFiles::read(const fs::path& folder) {
  ChatFiles files;
  const fs::path config_file = folder / "tokenizer_config.json";
  const Json config = fs::exists(config_file) ? load_object(config_file) : Json::object();
  if (const auto it = config.find("tokenizer_class"); it != config.end() && it->is_string())
    files.special_tokens = class_defaults(it->get<std::string>());
  read_tokens(config, config_file.string(), files);
  // Once the configuration lists the added tokens, the older file is not looked at.
  if (const fs::path map_file = folder / "special_tokens_map.json"; !config.contains("added_tokens_decoder") && fs::exists(map_file))
    read_tokens(load_object(map_file), map_file.string(), files);

  if (const fs::path file = folder / "chat_template.jinja"; fs::exists(file)) files.templates["default"] = read_file(file, file_limit);
  if (const fs::path more = folder / "additional_chat_templates"; fs::is_directory(more)) {
    for (const auto& entry : fs::directory_iterator(more))
      if (entry.path().extension() == ".jinja") files.templates[entry.path().stem().string()] = read_file(entry.path(), file_limit);
  }
  if (!files.templates.empty()) return files;
  for (const fs::path& file : {folder / "chat_template.json", config_file}) {
    if (!fs::exists(file)) continue;
    const Json json = load_object(file);
    const auto it = json.find("chat_template");
    if (it == json.end() || it->is_null()) continue;
    read_templates(*it, file.string(), files);
    break;
  }
  return files;
}

}  // namespace hearth::text
