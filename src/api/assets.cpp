#include "api/assets.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "core/error.h"

// Defined only in programs that use find_package(hearth), which compiles cmake/hearth-assets.cpp.in into them.
extern "C" __attribute__((weak)) const char* hearth_installed_assets();

namespace hearth::api {

namespace fs = std::filesystem;

fs::path assets_folder() {
  std::error_code error;
  if (const char* chosen = std::getenv("HEARTH_ASSETS"); chosen && *chosen) {
    if (!fs::is_directory(chosen, error)) fail<IoError>("assets: $HEARTH_ASSETS is '{}', expected a folder", chosen);
    return chosen;
  }
  std::vector<fs::path> places = {fs::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "share/hearth"};
  if (hearth_installed_assets) places.emplace_back(hearth_installed_assets());
  places.emplace_back(HEARTH_SOURCE_ASSETS);
  for (const fs::path& folder : places)
    if (fs::is_directory(folder, error)) return folder;
  std::string names;
  for (const fs::path& folder : places) names += (names.empty() ? "'" : ", '") + folder.string() + "'";
  fail<IoError>("assets: not found in {}; set $HEARTH_ASSETS to their folder", names);
}

fs::path demo_model_folder() { return assets_folder() / "demo-model"; }
fs::path demo_language_model_folder() { return assets_folder() / "demo-language-model"; }

}  // namespace hearth::api
