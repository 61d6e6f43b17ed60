#include "api/assets.h"

#include <cstdlib>

#include "core/error.h"

namespace hearth::api {

namespace fs = std::filesystem;

fs::path assets_folder() {
  std::error_code error;
  if (const char* chosen = std::getenv("HEARTH_ASSETS"); chosen && *chosen) {
    if (!fs::is_directory(chosen, error)) fail<IoError>("assets: $HEARTH_ASSETS is '{}', which is no folder", chosen);
    return chosen;
  }
  const fs::path installed = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "share/hearth";
  const fs::path source = HEARTH_SOURCE_ASSETS;
  for (const fs::path& folder : {installed, source})
    if (fs::is_directory(folder, error)) return folder;
  fail<IoError>("assets: neither '{}' nor '{}' is there; $HEARTH_ASSETS may name the folder", installed.string(), source.string());
}

fs::path demo_model_folder() { return assets_folder() / "demo-model"; }
fs::path demo_language_model_folder() { return assets_folder() / "demo-language-model"; }

}  // namespace hearth::api
