// The files that come with hearth: the demo model, vocabularies, configurations.
#pragma once

#include <filesystem>

namespace hearth::api {

// The folder of assets: $HEARTH_ASSETS if set; else share/hearth beside the program's bin folder (installed); else that of the hearth
// that find_package(hearth) found (a user's program); else the source tree's (built). IoError that names them if none exists.
std::filesystem::path assets_folder();

std::filesystem::path demo_model_folder();           // a diffusers folder
std::filesystem::path demo_language_model_folder();  // a transformers folder

}  // namespace hearth::api
