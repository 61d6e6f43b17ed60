// Names of models on a hub: ORG/NAME, ORG/NAME@REVISION, ORG/NAME:FILE.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::hub {

struct ModelName {
  std::string owner, name;
  std::string revision;  // a branch, tag or commit; empty: not given
  std::string file;      // a path in the repository, a file name, or a quantization such as q4_k_m; empty: not given

  std::string repo() const { return owner + "/" + name; }
  std::string with_revision() const { return revision.empty() ? repo() : repo() + "@" + revision; }
  std::string text() const { return file.empty() ? with_revision() : with_revision() + ":" + file; }
};

// nullopt if the text does not have this form.
std::optional<ModelName> parse_model_name(std::string_view text);

// Whether a relative path from a hub or a user stays inside its folder: no "..", no absolute path, no control characters, no backslashes.
bool is_safe_path(std::string_view path);

// The paths that `file` matches, sorted: the path itself; else the files with that name; else the GGUF files whose name contains it as a
// quantization ("q4_k_m" matches a-Q4_K_M.gguf, ignoring case). A match with one shard of a model includes all its shards.
std::vector<std::string> match_file(const std::vector<std::string>& paths, const std::string& file);

// "a-00002-of-00003.gguf" → "a.gguf"; other paths unchanged.
std::string without_part(const std::string& path);
// The number of shards in the name; 1 for other paths.
int parts_of(const std::string& path);

}  // namespace hearth::hub
