#include "api/rerun/rerun.h"

#include <nlohmann/json.hpp>

#include "api/image/editing.h"
#include "api/settings/loras.h"
#include "api/settings/recipe.h"
#include "api/settings/rerun_arguments.h"
#include "core/error.h"
#include "media/formats/image_file.h"

namespace hearth {
namespace api {
namespace {

void add_setting(const Row& row, const Json& recipe, Rerun& r) {
  const Json kept = stored_value(recipe, row);
  if (kept.is_null()) return;
  if (row.reporting.rerun) return row.reporting.rerun(row, kept, recipe, r);
  if (row.reporting.omitted_value && is_omitted(row, kept)) return;
  rerun_always(row, kept, recipe, r);
}

// Adds the settings that metadata stores under the names of flags.
void add_flags(const std::map<std::string, std::string>& flags, Rerun& r) {
  constexpr std::string_view sum = "-sha256";
  for (const auto& [flag, text] : flags) {
    const bool of_image = flags.contains(flag + std::string(sum));
    if (flag.ends_with(sum)) continue;
    if (of_image && !text.empty()) r.images.push_back({.flag = "--" + flag, .file = text, .sha256 = flags.at(flag + std::string(sum))});
    if (!text.empty()) add_flag(r, flag, text);
    else if (of_image) r.not_reproduced.push_back(fmt::format("the image of --{0}: its file is not recorded; add --{0} FILE", flag));
    else r.arguments.push_back("--" + flag);
  }
}

}  // namespace

Rerun rerun_of_recipe(const Json& recipe) {
  Rerun r{.source = "hearth", .arguments = {}, .model = recipe.at("model").at("name")};
  recipe.at("model").at("hashes").get_to(r.hashes);
  for (const Row& row : rows()) add_setting(row, recipe, r);
  if (recipe.contains("flags")) add_flags(recipe.at("flags"), r);
  if (recipe.contains("ended_after"))
    r.not_reproduced.push_back(fmt::format("the end after step {}: the user ended the run there", recipe.at("ended_after").get<int64_t>()));
  if (recipe.at("noise") != "seed") r.not_reproduced.push_back("the initial noise: its file is not recorded; add --noise FILE");
  return r;
}

}  // namespace api

Rerun rerun_of(const std::filesystem::path& image) {
  const LoadedImage read = read_image(image);
  if (const std::string* own = read.find(recipe_keyword)) return api::rerun_of_recipe(api::read_recipe(*own));
  if (const std::string* parameters = read.find(parameters_keyword)) return api::rerun_of_parameters(parse_parameters(*parameters));
  if (const std::string* graph = read.find("prompt")) return api::rerun_of_graph(*graph);
  fail<UsageError>("rerun: {} has no generation metadata", image.string());
}

std::string file_sum(const std::filesystem::path& file) { return api::sum_of_file(file); }

std::string pixels_sum(const std::filesystem::path& image) { return api::sum_of(Image::load(image)); }

}  // namespace hearth
