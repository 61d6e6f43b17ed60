// Opens the CLIP tokenizers of an image model.
#pragma once

#include <filesystem>

#include "models/registry.h"

namespace hearth::api {

// Whether `path` is a diffusers folder, a DDUF file or a single file, not a tokenizer or a language model.
bool is_image_model(const std::filesystem::path& path);

// The prompt readers of the model's text encoders, in their order. `config`: as OpenOptions::config. Errors of Checkpoint::open and
// models::find_family.
std::vector<std::unique_ptr<models::PromptReader>> prompt_readers(const std::filesystem::path& model, const std::filesystem::path& config);

}  // namespace hearth::api
