// Language models of published architectures with generated weights.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "hearth/progress.h"
#include "models/language_family.h"

namespace hearth::api {

// The benchmark's architecture with this name, and its family; nullopt for an unknown name.
struct PublishedLanguage {
  const models::LanguageFamily& family;
  const models::LanguageGeometry& geometry;
};
std::optional<PublishedLanguage> published_language(const std::string& model);

// A GGUF file with generated weights and no tokenizer: at `keep`, or a temporary one that the destructor deletes.
class GeneratedLanguageFile {
 public:
  GeneratedLanguageFile(const PublishedLanguage& p, DType type, const std::string& keep, const OnProgress& progress);
  ~GeneratedLanguageFile() { remove(); }
  GeneratedLanguageFile(const GeneratedLanguageFile&) = delete;
  GeneratedLanguageFile& operator=(const GeneratedLanguageFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  void remove();

  std::filesystem::path folder_, path_;
};

}  // namespace hearth::api
