// The options of model families (models/option.h) as rows among the settings of all image models.
#pragma once

#include <span>

#include "api/settings/setting.h"
#include "models/option.h"

namespace hearth::api {

struct FamilyOptions {
  std::string family, title;  // its folder; its display name
  std::span<const models::Option> options;
};

// The options of all families in the registry.
std::vector<FamilyOptions> options_of_families();

// Inserts each option once, after the row that it follows, with the families that have it and its default in each. Options that not all
// families have are listed under the title of the first that has them. UsageError for an option that follows no row, and for options with
// the same name that differ in more than `standard`.
std::vector<Row> with_options(std::vector<Row> shared, std::span<const FamilyOptions> families);

}  // namespace hearth::api
