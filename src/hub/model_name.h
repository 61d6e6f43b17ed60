// How a model on a hub is written: ORG/NAME, ORG/NAME@REVISION, ORG/NAME:FILE.
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

// Nothing where the text does not have this form.
std::optional<ModelName> parse_model_name(std::string_view text);

// Whether a path from a hub, or from a user, stays inside the folder that it is relative to: no "..", no absolute path, no control
// characters, no backslashes.
bool is_safe_path(std::string_view path);

// The paths that `file` means: the path itself; else the files of that name; else the GGUF files whose name holds it as a quantization
// ("q4_k_m" matches a-Q4_K_M.gguf, in upper or lower case). A model in parts has all of its parts here. Sorted.
std::vector<std::string> match_file(const std::vector<std::string>& paths, const std::string& file);

// "a-00002-of-00003.gguf" → "a.gguf"; other paths as they are.
std::string without_part(const std::string& path);
// The number of parts that the name tells; 1 for other paths.
int parts_of(const std::string& path);

}  // namespace hearth::hub
