// Output file names, and arrays and states in files.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "hearth/hearth.h"

namespace hearth::cli {

// The files of `count` images. One: `output` itself. More: "house.png" becomes house-1.png, house-2.png …, with leading zeros, so that
// every program lists them in order.
std::vector<std::filesystem::path> output_names(const std::filesystem::path& output, int64_t count);

// A tensor of a safetensors file, as f32. IoError, WeightError, UnsupportedError as weights/safetensors/safetensors.h says; NonFiniteError.
Array load_array(const std::filesystem::path& file, const std::string& name);
// Writes f32 safetensors, atomically.
void save_arrays(const std::filesystem::path& file, const std::map<std::string, Array>& arrays,
                 const std::map<std::string, std::string>& metadata = {});
// The state that `generate --stop-after` saved to a file. WeightError if it contains none.
RunState load_state(const std::filesystem::path& file);

// Elements [begin, end) of the outermost axis, and appending along it. ShapeError if the shapes do not match.
Array slice(const Array& array, int64_t begin, int64_t end);
void append(Array& to, const Array& more);

}  // namespace hearth::cli
