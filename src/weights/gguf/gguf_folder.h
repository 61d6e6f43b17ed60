// A folder that holds a GGUF file and no other checkpoint can be given in place of the file.
#pragma once

#include <filesystem>

namespace hearth {

// Whether `path` is such a folder, with one model or several.
bool is_gguf_folder(const std::filesystem::path& path);
// The file in such a folder, or the first file of a split model; any other path is returned unchanged. UsageError that lists the models if
// there are several.
std::filesystem::path gguf_file_of(const std::filesystem::path& path);

}  // namespace hearth
