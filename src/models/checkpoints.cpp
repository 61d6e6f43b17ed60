#include "models/checkpoints.h"

#include "models/registry.h"

namespace hearth::models {

namespace fs = std::filesystem;

std::vector<KnownFamily> image_files(const fs::path& assets) {
  std::vector<KnownFamily> known;
  std::error_code error;
  for (const Entry& entry : entries())
    if (const auto* family = std::get_if<ImageFamily>(&entry.task); family && family->files) {
      const fs::path installed = assets / "configs" / entry.name;
      const bool is_installed = !assets.empty() && fs::is_directory(installed, error);
      known.push_back({family->files, is_installed ? installed : source_folder(entry.name) / "configs"});
    }
  return known;
}

Checkpoint open_checkpoint(const fs::path& path, CheckpointPlaces places) {
  places.families = image_files(places.assets);
  return Checkpoint::open(path, places);
}

GivenComponent open_component(const fs::path& path, std::string_view component) { return open_given(path, component, image_files()); }

}  // namespace hearth::models
