#include "models/language_registry.h"

#include <algorithm>

namespace hearth::models {

std::vector<Found<LanguageFamily>> language_families() {
  std::vector<Found<LanguageFamily>> families;
  for (const Entry& entry : entries())
    if (const auto* family = std::get_if<LanguageFamily>(&entry.task)) families.push_back({entry.name, *family});
  return families;
}

namespace {

std::vector<GgufArchitecture> known_architectures() {
  std::vector<GgufArchitecture> architectures;
  for (const auto& [name, family] : language_families()) {
    if (family.gguf.name.empty()) continue;
    GgufArchitecture& a = architectures.emplace_back(family.gguf);
    a.model_type = family.model_types.front();
    a.class_name = family.class_name;
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
