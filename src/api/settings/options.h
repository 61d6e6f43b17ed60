// The options of families (models/option.h) as rows among the settings that all of them share.
#pragma once

#include <span>

#include "api/settings/setting.h"
#include "models/option.h"

namespace hearth::api {

struct FamilyOptions {
  std::string family;
  std::span<const models::Option> options;
};

// Of all families of this program's registry.
std::vector<FamilyOptions> options_of_families();

// Each option once, behind the row that it follows: with the families that have it, and what holds without it in each of them.
// UsageError for an option that follows no row, and for two of one name that differ in more than `standard`.
std::vector<Row> with_options(std::vector<Row> shared, std::span<const FamilyOptions> families);

}  // namespace hearth::api
