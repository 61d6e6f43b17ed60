#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "models/registry.h"

namespace hearth::models {

namespace {

// The entries of one task that have the name `wanted`; if there is none, `known` lists all names.
template <class Family, class Names>
std::vector<Found<Family>> find(const std::string& wanted, Names names, std::vector<std::string_view>& known) {
  std::vector<Found<Family>> found;
  for (const Entry& entry : entries())
    if (const Family* family = std::get_if<Family>(&entry.task)) {
      const std::vector<std::string_view>& mine = names(*family);
      if (std::ranges::find(mine, wanted) != mine.end()) found.push_back({entry.name, *family});
      for (const std::string_view name : mine)
        if (std::ranges::find(known, name) == known.end()) known.push_back(name);
    }
  return found;
}

// A family's checkpoints can have the components that its slots add, and no others.
const Found<ImageFamily>& with_added(const Found<ImageFamily>& found, const Checkpoint& checkpoint) {
  for (const Component& c : checkpoint.components()) {
    if (!checkpoint.is_added(c.name)) continue;
    const auto is_this = [&c](const hearth::Slot* slot) { return slot->name == c.name; };
    if (!found.family.files || std::ranges::none_of(found.family.files->slots, is_this))
      fail<UsageError>("{}: {} does not support a {}, expected none", checkpoint.root().string(), checkpoint.pipeline_class(),
                       checkpoint.label_of(c.name));
  }
  return found;
}

}  // namespace

Found<ImageFamily> find_family(const Checkpoint& checkpoint) {
  std::vector<std::string_view> known;
  const auto names = [](const ImageFamily& f) -> const auto& { return f.pipelines; };
  const auto found = find<ImageFamily>(checkpoint.pipeline_class(), names, known);
  const auto claims = [&](const auto& f) { return f.family.claims && f.family.claims(checkpoint); };
  if (const auto claimed = std::ranges::find_if(found, claims); claimed != found.end()) return with_added(*claimed, checkpoint);
  const auto takes_all = [](const auto& f) { return !f.family.claims; };
  if (const auto any = std::ranges::find_if(found, takes_all); any != found.end()) return with_added(*any, checkpoint);
  fail<UnsupportedError>("{}: the pipeline class '{}' is not supported, expected one of {}", checkpoint.root().string(),
                         checkpoint.pipeline_class(), fmt::join(known, ", "));
}

Found<LanguageFamily> find_family(const LanguageCheckpoint& checkpoint) {
  std::vector<std::string_view> known;
  const auto names = [](const LanguageFamily& f) -> const auto& { return f.model_types; };
  if (const auto found = find<LanguageFamily>(checkpoint.model_type(), names, known); !found.empty()) return found[0];
  fail<UnsupportedError>("{}: the model type '{}' is not supported, expected one of {}", checkpoint.config().where(),
                         checkpoint.model_type(), fmt::join(known, ", "));
}

}  // namespace hearth::models
