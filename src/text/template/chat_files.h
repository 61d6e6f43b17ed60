// The files of a folder that say how to chat with its model.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hearth::text {

struct ChatFiles {
  std::map<std::string, std::string> templates;       // source by name; empty where the folder has none
  std::map<std::string, std::string> special_tokens;  // bos_token, eos_token … that are set
  std::vector<std::string> additional_tokens;         // additional_special_tokens

  // IoError for what is no JSON, WeightError for what has another shape than published files have.
  static ChatFiles read(const std::filesystem::path& folder);
  // The same of files that are kept in something else: `text_of` a name, nullopt if there is no such file; without
  // additional_chat_templates.
  using TextOf = std::function<std::optional<std::string>(const std::string& name)>;
  static ChatFiles read(const TextOf& text_of, const std::filesystem::path& where);
};

}  // namespace hearth::text
