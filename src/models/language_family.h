// What a family of language models tells the registry.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "models/language_model.h"
#include "weights/language_checkpoint.h"

namespace hearth::models {

struct LanguageFamily {
  std::vector<std::string_view> model_types;  // in config.json
  // Loads everything; all or nothing.
  std::unique_ptr<LanguageModel> (*open)(const LanguageCheckpoint& checkpoint, Backend& device, const LoadRequest& request);
};

}  // namespace hearth::models
