// Where pictures and arrays go and come from.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "hearth/hearth.h"

namespace hearth::cli {

// The files of `count` pictures. One: `output` itself. More: "house.png" becomes house-1.png, house-2.png …, with leading zeros
// so that every program lists them in order.
std::vector<std::filesystem::path> output_names(const std::filesystem::path& output, int64_t count);

// A tensor of a safetensors file, as f32. IoError, WeightError, UnsupportedError as weights/safetensors.h says; NonFiniteError.
Array load_array(const std::filesystem::path& file, const std::string& name);
// f32 safetensors; appears whole or not at all.
void save_arrays(const std::filesystem::path& file, const std::map<std::string, Array>& arrays,
                 const std::map<std::string, std::string>& metadata = {});
// What `generate --stop-after` has left in a file. WeightError where there is nothing of the kind.
RunState load_state(const std::filesystem::path& file);

// Elements [begin, end) of the outermost axis, and the opposite. ShapeError where they do not fit.
Array slice(const Array& array, int64_t begin, int64_t end);
void append(Array& to, const Array& more);

}  // namespace hearth::cli
