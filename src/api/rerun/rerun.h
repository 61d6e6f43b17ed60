// Converts the three kinds of image metadata to flags of generate.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json_fwd.hpp>

#include "hearth/rerun.h"
#include "media/metadata/parameters.h"

namespace hearth::api {

// `recipe`: as returned by read_recipe (settings/recipe.h).
Rerun rerun_of_recipe(const nlohmann::ordered_json& recipe);
Rerun rerun_of_parameters(const Parameters& parameters);
// `graph`: a workflow in ComfyUI's API format. UsageError if it has no sampler or is not a JSON object.
Rerun rerun_of_graph(const std::string& graph);

// Appends a flag and its value: as two arguments, or as one if the value would be parsed as a flag.
template <class T> void add_flag(Rerun& r, const std::string& flag, const T& value) {
  const std::string text = fmt::format("{}", value);
  if (text.starts_with('-')) return r.arguments.push_back("--" + flag + "=" + text);
  r.arguments.push_back("--" + flag);
  r.arguments.push_back(text);
}

}  // namespace hearth::api
