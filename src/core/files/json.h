// Strict JSON for checkpoints. Only sources that need nlohmann/json.hpp include it.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace hearth {

// Parses a complete text. Accepts Python's bare NaN, Infinity and -Infinity as numbers: they are not JSON, but published configurations
// contain them. IoError, starting with `where`, for malformed text (with its line), a duplicate key, and more than 100 levels.
nlohmann::json parse_json(std::string_view text, const std::string& where);

// read_file (core/files/file.h) and parse_json. The file may have up to 256 MB.
nlohmann::json load_json(const std::filesystem::path& file);

}  // namespace hearth
