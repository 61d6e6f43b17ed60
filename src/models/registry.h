// The families of this build. A family is a folder here; its entry() is its only interface to the rest.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <variant>

#include "models/image_family.h"
#include "models/language_family.h"

namespace hearth::models {

struct Entry {
  std::string_view name;     // same as its folder
  std::string_view summary;  // one line for `hearth list models`
  std::variant<ImageFamily, LanguageFamily> task;
  std::string_view title = {};  // heading of its options in help: "Stable Diffusion XL"; empty: the name
};

std::span<const Entry> entries();

// The family's folder in the source tree of this build; it may no longer exist.
std::filesystem::path source_folder(std::string_view family);

template <class Family> struct Found {
  std::string_view name;  // of the entry
  const Family& family;
};
// The family of a checkpoint, by the pipeline class in its model_index.json and the families' claims. UnsupportedError names the
// class and the supported ones.
Found<ImageFamily> find_family(const Checkpoint& checkpoint);
// Opens a checkpoint's model with its networks on `device`; all or nothing. Keeps what it needs of the checkpoint. The registry finds the
// family of `request.refiner` by itself. Errors of find_family and of its configurations; WeightError if tensors do not match.
std::unique_ptr<ImageModel> open_image_model(const Checkpoint& checkpoint, Backend& device, const LoadRequest& request);
// The same by model_type.
Found<LanguageFamily> find_family(const LanguageCheckpoint& checkpoint);

}  // namespace hearth::models
