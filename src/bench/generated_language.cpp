#include "bench/generated_language.h"

#include <unistd.h>

#include "api/files/gguf_file_types.h"
#include "bench/generated.h"
#include "core/error.h"
#include "models/language_loading.h"
#include "models/language_registry.h"

namespace hearth::api {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const PublishedLanguage& p, DType type, const OnProgress& progress) {
  GgufExport model = export_geometry(p.family, p.geometry);
  model.values.text("tokenizer.ggml.model", "no_vocab");
  const std::vector<GgufTensor> tensors = choose_types(model, {.type = &file_type_named(std::string(name_of(type)))});
  write_gguf(path, model.values, tensors, [&](size_t i, const WriteBytes& sink) {
    if (progress) progress({.phase = "write", .done = int64_t(i), .total = int64_t(tensors.size())});
    write_generated_values(tensors[i], sink, model.tensors[i].negative_exp);
  });
}

}  // namespace

std::optional<PublishedLanguage> published_language(const std::string& model) {
  for (const auto& [name, family] : models::language_families())
    for (const models::LanguageGeometry& geometry : family.geometries)
      if (geometry.name == model) return PublishedLanguage{family, geometry};
  return std::nullopt;
}

GeneratedLanguageFile::GeneratedLanguageFile(const PublishedLanguage& p, DType type, const std::string& keep, const OnProgress& progress)
    : path_(keep) {
  if (!keep.empty()) {
    write(path_, p, type, progress);
    return;
  }
  std::string name = (fs::temp_directory_path() / "hearth-bench-XXXXXX").string();
  if (!mkdtemp(name.data())) fail<IoError>("bench: cannot create a folder in {}", fs::temp_directory_path().string());
  folder_ = name;
  path_ = folder_ / "model.gguf";
  try {
    write(path_, p, type, progress);
  } catch (...) {
    remove();
    throw;
  }
}

void GeneratedLanguageFile::remove() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

}  // namespace hearth::api
