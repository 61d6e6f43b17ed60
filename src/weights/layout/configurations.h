// The built-in configurations of single files: a single file has no configuration, so that of the published model with the same sizes is
// used.
#pragma once

#include "weights/layout/sections.h"
#include "weights/safetensors/safetensors.h"

namespace hearth {

struct Configuration {
  const ImageFiles* family = nullptr;
  std::filesystem::path folder;  // KnownFamily
};

// The path of a file, "unet/config.json", in such a folder, or else in the folder of its base (`_base` in model_index.json), which is next
// to it or in any family's folder. If neither has the file, its path in `folder`.
std::filesystem::path published_file(const std::filesystem::path& folder, const std::filesystem::path& file,
                                     std::span<const KnownFamily> families);

// The network that determines the configuration: the denoiser's tensors under their official names.
struct Deciding {
  const NetworkFiles& network;
  const Slot& slot;
  const TensorSource& tensors;
};

// The configurations whose denoiser has these sizes, ordered by family, then by name.
std::vector<Configuration> configurations_with(const Deciding& denoiser, std::span<const KnownFamily> families);

// A file's configuration, and the changes that the file makes to it.
struct Chosen {
  Configuration configuration;
  std::map<std::string, std::string> patch;  // changes to the scheduler's file: key → JSON
  std::vector<std::string> changes;          // the same in words: "v-prediction"
};

// The one of configurations_with() whose `_marker` is a tensor of the file and whose scheduler has the file's prediction type. The
// prediction type comes from a marker of the family, from the metadata (modelspec.prediction_type), or from the family's guess by the
// denoiser's tensors. nullopt if no configuration matches.
std::optional<Chosen> choose_configuration(const Deciding& denoiser, const TensorSource& file, const Metadata& metadata,
                                           std::span<const KnownFamily> families);

}  // namespace hearth
