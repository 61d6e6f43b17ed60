// Where an image model's CLIP tokenizers come from.
#pragma once

#include <filesystem>

#include "models/registry.h"

namespace hearth::api {

// A diffusers folder, a DDUF file or a single file; not a tokenizer's own file or folder, nor a language model.
bool is_image_model(const std::filesystem::path& path);

// How its text encoders read text, the first one first. `config`: as OpenOptions::config. Errors of Checkpoint::open and
// models::find_family.
std::vector<std::unique_ptr<models::PromptReader>> prompt_readers(const std::filesystem::path& model, const std::filesystem::path& config);

}  // namespace hearth::api
