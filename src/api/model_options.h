// The options of all families, for flags, reports, metadata and `hearth rerun`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "hearth/hearth.h"
#include "media/recipe.h"
#include "models/option.h"

namespace hearth::api {

// The rows of all families, each name once.
std::vector<models::Option> model_options();

// For the report: every option there is, null where it is not known; of a group those that were given.
void add_options(nlohmann::ordered_json& report, const OptionValues& given, const OptionValues& used);

// For metadata: what was given, and what metadata state in any case.
std::vector<RecipeOption> recipe_options(const OptionValues& given, const OptionValues& used);
// Names of those that metadata state and that were not given.
std::vector<std::string> options_left_open(const OptionValues& given, const OptionValues& used);
// By which metadata are read.
std::vector<RecipeOption> known_recipe_options();

}  // namespace hearth::api
