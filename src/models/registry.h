// The families that this build knows. A family is a folder here; its entry() is the only thing that it tells the rest.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <variant>

#include "models/image_family.h"
#include "models/language_family.h"

namespace hearth::models {

struct Entry {
  std::string_view name;     // "sd1"
  std::string_view summary;  // one line for `hearth list models`
  std::variant<TextToImageFamily, LanguageFamily> task;
};

std::span<const Entry> entries();

// The family's folder in the tree that this was built from; it need not be there any more.
std::filesystem::path source_folder(std::string_view family);

template <class Family> struct Found {
  std::string_view name;  // of the entry
  const Family& family;
};
// The family of a checkpoint, by the pipeline class in its model_index.json and by what its families claim. UnsupportedError names the
// class and those that there are.
Found<TextToImageFamily> find_family(const Checkpoint& checkpoint);
// The same by model_type.
Found<LanguageFamily> find_family(const LanguageCheckpoint& checkpoint);

}  // namespace hearth::models
