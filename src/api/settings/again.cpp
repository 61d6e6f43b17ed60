#include "api/settings/again.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/rerun.h"

namespace hearth::api {
namespace {

bool goes_by_sigmas(const std::string& schedule) { return schedule.starts_with("sigmas:"); }

// Images that came from one generator come again all together only.
bool came_together(const Json& recipe) {
  const std::string compat = recipe.at("compat");
  return recipe.at("batch_size").get<int64_t>() > 1 && (compat == name_of(Compat::diffusers) || compat == name_of(Compat::comfyui));
}

}  // namespace

void again_whatever_it_is(const Row& row, const Json& kept, const Json&, Rerun& r) {
  for (const std::string& text : typed(row, kept)) add_flag(r, flag_of(row.shown), text);
}

void again_unless_left_open(const Row& row, const Json& kept, const Json& recipe, Rerun& r) {
  const Json& open = recipe.at("defaults");
  if (std::ranges::find(open, Json(row.shown.name)) == open.end()) again_whatever_it_is(row, kept, recipe, r);
}

void embeddings_again(const Row& row, const Json& kept, const Json&, Rerun& r) {
  for (const std::string& name : typed(row, kept))
    r.not_honoured.push_back(fmt::format("the embedding '{0}', whose file is not told: give --embedding {0}=FILE", name));
}

void refiner_again(const Row&, const Json& kept, const Json& recipe, Rerun& r) {
  r.not_honoured.push_back(fmt::format("the refiner '{}', whose folder is not told: give --refiner PATH --refiner-start {}",
                                       recipe.at("refiner").at("name").get<std::string>(), kept.get<double>()));
}

void steps_again(const Row& row, const Json& kept, const Json& recipe, Rerun& r) {
  if (!goes_by_sigmas(recipe.at("schedule"))) again_whatever_it_is(row, kept, recipe, r);
}

// "karras:rho=5" or "sigmas:14.6,7,0", as sampling::ScheduleChoice::text writes them.
void schedule_again(const Row&, const Json& kept, const Json&, Rerun& r) {
  const std::string text = kept;
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon), rest = colon == text.npos ? "" : text.substr(colon + 1);
  if (goes_by_sigmas(text)) return add_flag(r, "sigmas", rest);
  if (!name.empty()) add_flag(r, "schedule", name);
  for (size_t begin = 0; begin < rest.size();) {
    const size_t end = std::min(rest.find(',', begin), rest.size());
    add_flag(r, "schedule-opt", rest.substr(begin, end - begin));
    begin = end + 1;
  }
}

void batch_size_again(const Row& row, const Json& kept, const Json& recipe, Rerun& r) {
  if (!came_together(recipe)) return;
  const auto size = kept.get<int64_t>();
  again_whatever_it_is(row, kept, recipe, r);
  r.not_honoured.push_back(fmt::format("that it is one of a batch: all {} are drawn, it is number {}", size,
                                       recipe.at("batch_index").get<int64_t>() % size + 1));
}

void batch_index_again(const Row& row, const Json& kept, const Json& recipe, Rerun& r) {
  const bool numbered = recipe.at("compat") == name_of(Compat::comfyui) && kept.get<int64_t>() > 0;
  if (numbered && !came_together(recipe)) again_whatever_it_is(row, kept, recipe, r);
}

}  // namespace hearth::api
