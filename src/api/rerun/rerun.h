// The three languages that images tell of themselves in, each turned into the flags of generate.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json_fwd.hpp>

#include "hearth/rerun.h"
#include "media/metadata/parameters.h"

namespace hearth::api {

// `recipe` as read_recipe gives it (settings/recipe.h).
Rerun rerun_of_recipe(const nlohmann::ordered_json& recipe);
Rerun rerun_of_parameters(const Parameters& parameters);
// `graph`: ComfyUI's API form of a workflow. UsageError where no sampler is in it, or it is no JSON object.
Rerun rerun_of_graph(const std::string& graph);

// Appends a flag and its value: two words, or one where the value would be taken for a flag.
template <class T> void add_flag(Rerun& r, const std::string& flag, const T& value) {
  const std::string text = fmt::format("{}", value);
  if (text.starts_with('-')) return r.arguments.push_back("--" + flag + "=" + text);
  r.arguments.push_back("--" + flag);
  r.arguments.push_back(text);
}

}  // namespace hearth::api
