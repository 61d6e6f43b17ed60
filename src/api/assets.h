// The files that come with hearth: the demo model, vocabularies, configurations.
#pragma once

#include <filesystem>

namespace hearth::api {

// The folder of assets: $HEARTH_ASSETS where it is set, else share/hearth beside the program's bin folder (installed), else
// the source tree's (built). IoError that names the places where none of them is there.
std::filesystem::path assets_folder();

std::filesystem::path demo_model_folder();           // a diffusers folder
std::filesystem::path demo_language_model_folder();  // a transformers folder

}  // namespace hearth::api
