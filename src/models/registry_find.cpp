#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "models/registry.h"

namespace hearth::models {

const Entry& find_family(const Checkpoint& checkpoint) {
  std::vector<std::string_view> known;
  for (const Entry& entry : entries()) {
    const auto& classes = entry.pipelines;
    if (std::find(classes.begin(), classes.end(), checkpoint.pipeline_class()) != classes.end()) return entry;
    known.insert(known.end(), classes.begin(), classes.end());
  }
  fail<UnsupportedError>("{}: the pipeline class '{}' is not supported, only {}", checkpoint.root().string(), checkpoint.pipeline_class(),
                         fmt::join(known, ", "));
}

}  // namespace hearth::models
