// JSON as checkpoints hold it, read strictly. The library's header stays out of ours: only sources that need it include it.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace hearth {

// Parses a whole text. Python's bare NaN, Infinity and -Infinity, which no JSON is but published configs hold, become numbers.
// IoError that begins with `where` and says the line for malformed text, a key that an object has twice, more than 100 levels.
nlohmann::json parse_json(std::string_view text, const std::string& where);

// core/files/file.h's read_file and the above. The file may have up to 256 MB.
nlohmann::json load_json(const std::filesystem::path& file);

}  // namespace hearth
