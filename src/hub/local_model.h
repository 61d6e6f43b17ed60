// Resolves the name of a pulled model to a path; nothing else does.
#pragma once

#include <filesystem>

namespace hearth::hub {

// Returns `path` unchanged if it exists or is not the name of a model on a hub. ORG/NAME, ORG/NAME@REVISION and ORG/NAME:FILE become the
// path of the pulled model. IoError that suggests hearth pull if it has not been pulled.
std::filesystem::path local_model(const std::filesystem::path& path);

}  // namespace hearth::hub
