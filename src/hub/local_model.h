// The one place where the name of a model becomes a path.
#pragma once

#include <filesystem>

namespace hearth::hub {

// A path that exists, and one that is no name of a model on a hub, is itself. ORG/NAME, ORG/NAME@REVISION and ORG/NAME:FILE are what
// hearth pull has put into the cache. IoError that names the command where it has not.
std::filesystem::path local_model(const std::filesystem::path& path);

}  // namespace hearth::hub
