// The files that are part of hearth: the demo models, vocabularies, configurations.
#pragma once

#include <filesystem>

namespace hearth::api {

// The assets folder: $HEARTH_ASSETS if set; else share/hearth next to the program's bin folder (installed hearth); else that of the hearth
// found by find_package(hearth) (a user's program); else that of the source tree (built hearth). IoError that lists them if none exists.
std::filesystem::path assets_folder();

std::filesystem::path demo_model_folder();           // a diffusers folder
std::filesystem::path demo_language_model_folder();  // a transformers folder

}  // namespace hearth::api
