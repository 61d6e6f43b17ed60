#include "models/language_registry.h"

#include <algorithm>

namespace hearth::models {

std::vector<Found<LanguageFamily>> language_families() {
  std::vector<Found<LanguageFamily>> families;
  for (const Entry& entry : entries())
    if (const auto* family = std::get_if<LanguageFamily>(&entry.task)) families.push_back({entry.name, *family});
  return families;
}

GgufArchitecture gguf_architecture_for(const LanguageFamily& family, std::string_view model_type) {
  GgufArchitecture a = family.gguf;
  a.model_type = family.model_types.front();
  a.class_name = family.class_name;
  for (const OtherGguf& other : family.other_gguf)
    if (std::ranges::find(other.model_types, model_type) != other.model_types.end())
      a.name = other.name, a.model_type = other.model_types.front();
  return a;
}

namespace {

std::vector<GgufArchitecture> known_architectures() {
  std::vector<GgufArchitecture> architectures;
  for (const auto& [name, family] : language_families()) {
    if (family.gguf.name.empty()) continue;
    architectures.push_back(gguf_architecture_for(family, family.model_types.front()));
    for (const OtherGguf& other : family.other_gguf) architectures.push_back(gguf_architecture_for(family, other.model_types.front()));
  }
  return architectures;
}

LanguageCheckpoint presented(LanguageCheckpoint checkpoint) {
  for (const auto& [name, family] : language_families())
    if (std::ranges::find(family.model_types, checkpoint.model_type()) != family.model_types.end()) checkpoint.present(family.present);
  return checkpoint;
}

}  // namespace

LanguageCheckpoint open_language_checkpoint(const std::filesystem::path& path, const std::string& variant) {
  return presented(LanguageCheckpoint::open(path, variant, known_architectures()));
}

LanguageCheckpoint open_language_checkpoint(std::shared_ptr<GgufFile> file) {
  return presented(LanguageCheckpoint::from_gguf(std::move(file), known_architectures()));
}

std::vector<text::FamilyClass> tokenizer_classes() {
  std::vector<text::FamilyClass> classes;
  for (const auto& [name, family] : language_families())
    for (const std::string_view type : family.model_types)
      if (!family.tokenizer_class.empty()) classes.push_back({type, family.tokenizer_class, family.own_tokenizer_class});
  return classes;
}

}  // namespace hearth::models
