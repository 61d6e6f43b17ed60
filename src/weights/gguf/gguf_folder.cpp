#include "weights/gguf/gguf_folder.h"

#include <algorithm>
#include <map>
#include <regex>

#include "core/error.h"
#include "weights/checkpoint_files.h"
#include "weights/listing.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

// The first file of each model in the folder, ordered by name.
std::vector<fs::path> models_in(const fs::path& folder) {
  static const std::regex part("(.*)-\\d{5}-of-\\d{5}\\.gguf");
  std::error_code error;
  std::map<std::string, fs::path> first;  // by the name without the shard's number
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".gguf" || !entry.is_regular_file(error)) continue;
    const std::string name = entry.path().filename().string();
    std::smatch match;
    fs::path& file = first[std::regex_match(name, match, part) ? match[1].str() + ".gguf" : name];
    if (file.empty() || entry.path() < file) file = entry.path();
  }
  std::vector<fs::path> files;
  for (const auto& [name, file] : first) files.push_back(file);
  std::ranges::sort(files);
  return files;
}

}  // namespace

bool is_gguf_folder(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error) || fs::exists(path / "config.json", error) || fs::exists(path / "model_index.json", error))
    return false;
  return !models_in(path).empty() && find_weight_files(path).empty();
}

fs::path gguf_file_of(const fs::path& path) {
  if (!is_gguf_folder(path)) return path;
  const std::vector<fs::path> files = models_in(path);
  if (files.size() == 1) return files[0];
  std::vector<std::string> names;
  for (const fs::path& file : files) names.push_back(file.filename().string());
  fail<UsageError>("{}: holds {} GGUF models, expected the path of one: {}", path.string(), files.size(), shortened_list(names));
}

}  // namespace hearth
