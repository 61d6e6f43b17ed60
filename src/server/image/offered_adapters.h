// Adapters of image models that requests may name.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace hearth::server {

struct OfferedAdapters {
  std::map<std::string, std::filesystem::path> controls;       // control networks, by name
  std::map<std::string, std::filesystem::path> image_prompts;  // adapters for image prompts, by name
  std::filesystem::path lora_folder;                           // files that prompts of A1111's syntax may name; empty: none
};

}  // namespace hearth::server
