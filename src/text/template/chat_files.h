// The chat template and special tokens in the files of a checkpoint's folder.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace hearth::text {

struct ChatFiles {
  std::map<std::string, std::string> templates;       // source by name; empty if the folder has none
  std::map<std::string, std::string> special_tokens;  // bos_token, eos_token … that are set
  std::vector<std::string> additional_tokens;         // additional_special_tokens

  // IoError for invalid JSON, WeightError for a structure that differs from that of published files.
  static ChatFiles read(const std::filesystem::path& folder);
};

}  // namespace hearth::text
