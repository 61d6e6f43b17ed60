// The built-in configurations of single files: what a file itself does not say is that of the published model which has its sizes.
#pragma once

#include "weights/layout/sections.h"
#include "weights/safetensors/safetensors.h"

namespace hearth {

struct Configuration {
  const ImageFiles* family = nullptr;
  std::filesystem::path folder;  // KnownFamily
};

// A file of such a folder, "unet/config.json", or the base's (`_base` in model_index.json) which stands beside it or in any family's
// folder. The path in the folder itself where neither has it.
std::filesystem::path published_file(const std::filesystem::path& folder, const std::filesystem::path& file,
                                     std::span<const KnownFamily> families);

// The network that decides: the denoiser's tensors under their official names.
struct Deciding {
  const NetworkFiles& network;
  const Slot& slot;
  const TensorSource& tensors;
};

// Those in which this network has these sizes: by family, then by name.
std::vector<Configuration> configurations_with(const Deciding& denoiser, std::span<const KnownFamily> families);

// A file's configuration, and what the file says otherwise.
struct Chosen {
  Configuration configuration;
  std::map<std::string, std::string> patch;  // of the scheduler's file: key → JSON in place of what stands there
  std::vector<std::string> changes;          // the same for people: "v-prediction"
};

// The one of configurations_with whose `_marker` is a tensor of the file, and whose scheduler predicts what the file does: that is told by
// a marker of its family, by the metadata (modelspec.prediction_type), or by what the family makes of the denoiser. Nothing where there is
// none.
std::optional<Chosen> choose_configuration(const Deciding& denoiser, const TensorSource& file, const Metadata& metadata,
                                           std::span<const KnownFamily> families);

}  // namespace hearth
