// Data of all language families in the registry, for layers that know none of them.
#pragma once

#include <filesystem>

#include "models/registry.h"
#include "text/tokenizer/tokenizer.h"
#include "weights/language_checkpoint.h"

namespace hearth::models {

std::vector<Found<LanguageFamily>> language_families();

// The GGUF files of a family's models of this type; no name if it has none.
GgufArchitecture gguf_architecture_for(const LanguageFamily& family, std::string_view model_type);

// LanguageCheckpoint::open with the GGUF architectures of all families.
LanguageCheckpoint open_language_checkpoint(const std::filesystem::path& path, const std::string& variant = {});
LanguageCheckpoint open_language_checkpoint(std::shared_ptr<GgufFile> file);
// For text::Tokenizer::open.
std::vector<text::FamilyClass> tokenizer_classes();

}  // namespace hearth::models
