// Reads tokenizer_config.json and special_tokens_map.json.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/config.h"
#include "text/clip/clip_readers.h"

namespace hearth::text {

using Json = nlohmann::json;
using pipeline::AddedToken;

AddedToken read_added_token(const Json& value, const std::string& where, bool special) {
  AddedToken token{.special = special};
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
    fail<WeightError>("{}: a token is {}, expected a text or an object", where, value.dump());
  }
  if (!value.is_object() || !value.contains("normalized")) token.normalized = !token.special;
  if (token.content.empty()) fail<WeightError>("{}: a token is empty", where);
  return token;
}

SpecialTokens::SpecialTokens() {
  by_name["bos_token"].content = "<|startoftext|>";
  for (const char* name : {"eos_token", "unk_token", "pad_token"}) by_name[name].content = "<|endoftext|>";
  by_name["pad_token"].normalized = false;
}

void SpecialTokens::read(const Json& json, const std::string& where, Objects objects) {
  for (const char* name : special_names) {
    const auto it = json.find(name);
    if (it == json.end()) continue;
    by_name.erase(name);
    if (it->is_null()) continue;
    // The reference makes plain added tokens of these three if they are texts, and special ones of the others.
    const bool plain = it->is_string() && (std::string_view(name) == "bos_token" || std::string_view(name) == "eos_token" ||
                                           std::string_view(name) == "unk_token");
    const bool special = it->is_string() ? !plain : objects == Objects::special;
    by_name[name] = read_added_token(*it, fmt::format("{}: {}", where, name), special);
  }
  const auto it = json.find("additional_special_tokens");
  if (it == json.end() || it->is_null()) return;
  if (!it->is_array()) fail<WeightError>("{}: additional_special_tokens is {}, expected a list", where, it->dump());
  for (const Json& value : *it) {
    AddedToken token = read_added_token(value, where + ": additional_special_tokens", value.is_string() || objects == Objects::special);
    const auto same = [&](const AddedToken& other) { return other.content == token.content; };
    if (std::none_of(additional.begin(), additional.end(), same)) additional.push_back(std::move(token));
  }
}

void read_tokenizer_config(ClipVocabulary& v, const std::string& text, const std::string& where) {
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
  // A tokenizer without a limit states 10³⁰.
  if (const double length = c.number("model_max_length", 1e30); length < 1e20) v.model_max_length = c.integer("model_max_length");
  if (v.model_max_length < 2) fail<WeightError>("{}: model_max_length is {}, expected at least 2", where, v.model_max_length);
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
               "subfolder",
               "revision",
               "token",
               "cache_dir",
               "chat_template",
               "max_length",
               "stride",
               "padding",
               "pad_to_multiple_of",
               "pad_token_type_id",
               "truncation_strategy",
               "from_slow",
               "variant",
               "device_map",
               "torch_dtype",
               "low_cpu_mem_usage"});
  c.finish();
}

}  // namespace hearth::text
