// How much of an adapter a model has.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace hearth::adapters {

struct Coverage {
  std::filesystem::path path;
  int64_t modules = 0, weights = 0;        // modules that change something; weights of the model that they change
  std::map<std::string, int64_t> changed;  // weights by component
  std::vector<std::string> surplus;        // modules that the model's files have and its networks do not use
  std::vector<std::string> absent;         // modules that the model lacks
  std::vector<std::string> unknown;        // tensors that belong to no module
};

// "lora.safetensors: 264 modules change 264 weights: text_encoder 72, unet 192; no module is unused"
std::string text_of(const Coverage& coverage);

}  // namespace hearth::adapters
