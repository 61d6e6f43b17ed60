#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "models/registry.h"

namespace hearth::models {

namespace {

// The entry of one task among whose names `wanted` is; where there is none, all these names are in `known`.
template <class Family, class Names>
std::optional<Found<Family>> find(const std::string& wanted, Names names, std::vector<std::string_view>& known) {
  for (const Entry& entry : entries())
    if (const Family* family = std::get_if<Family>(&entry.task)) {
      const std::vector<std::string_view>& mine = names(*family);
      if (std::find(mine.begin(), mine.end(), wanted) != mine.end()) return Found<Family>{entry.name, *family};
      known.insert(known.end(), mine.begin(), mine.end());
    }
  return std::nullopt;
}

}  // namespace

Found<TextToImageFamily> find_family(const Checkpoint& checkpoint) {
  std::vector<std::string_view> known;
  const auto names = [](const TextToImageFamily& f) -> const auto& { return f.pipelines; };
  if (const auto found = find<TextToImageFamily>(checkpoint.pipeline_class(), names, known)) return *found;
  fail<UnsupportedError>("{}: the pipeline class '{}' is not supported, only {}", checkpoint.root().string(), checkpoint.pipeline_class(),
                         fmt::join(known, ", "));
}

Found<LanguageFamily> find_family(const LanguageCheckpoint& checkpoint) {
  std::vector<std::string_view> known;
  const auto names = [](const LanguageFamily& f) -> const auto& { return f.model_types; };
  if (const auto found = find<LanguageFamily>(checkpoint.model_type(), names, known)) return *found;
  fail<UnsupportedError>("{}: the model type '{}' is not supported, only {}", checkpoint.config().where(), checkpoint.model_type(),
                         fmt::join(known, ", "));
}

}  // namespace hearth::models
