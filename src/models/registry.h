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
  std::string_view name;     // that of its folder
  std::string_view summary;  // one line for `hearth list models`
  std::variant<ImageFamily, LanguageFamily> task;
  std::string_view title = {};  // heading of its own options in help: "Stable Diffusion XL"; empty: the name
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
Found<ImageFamily> find_family(const Checkpoint& checkpoint);
// A checkpoint's model with its networks on `device`; all or nothing. What is needed of the checkpoint is kept. `request.refiner` is of the
// family that the registry finds for it. Errors of find_family, of its configurations, WeightError where tensors do not fit.
std::unique_ptr<ImageModel> open_image_model(const Checkpoint& checkpoint, Backend& device, const LoadRequest& request);
// The same by model_type.
Found<LanguageFamily> find_family(const LanguageCheckpoint& checkpoint);

}  // namespace hearth::models
