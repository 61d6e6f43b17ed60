// A folder that holds a GGUF file and no published checkpoint stands for that file.
#pragma once

#include <filesystem>

namespace hearth {

// Whether it is such a folder, with one model or several.
bool is_gguf_folder(const std::filesystem::path& path);
// The file of such a folder, of a model in parts the first; any other path itself. UsageError that lists the models where there are
// several.
std::filesystem::path gguf_file_of(const std::filesystem::path& path);

}  // namespace hearth
