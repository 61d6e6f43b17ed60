#include "api/settings/recipe.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "api/editing.h"
#include "core/error.h"

namespace hearth::api {
namespace {

constexpr int64_t format = 1;

std::string key_of(const Row& row) { return std::string(row.told.key.empty() ? row.shown.name : row.told.key); }

// Those that are kept, in metadata's order.
std::vector<const Row*> kept_rows(bool always) {
  std::vector<const Row*> kept;
  for (const Row& row : rows())
    if (row.told.keep != Keep::never && (row.told.keep == Keep::always) == always) kept.push_back(&row);
  std::ranges::stable_sort(kept, {}, [](const Row* row) { return row->told.late; });
  return kept;
}

Json kept_value(const Row& row, const Request& told) {
  const Json value = row.told.kept ? row.told.kept(told) : row.value(told);
  if (value.is_number_float() && !std::isfinite(value.get<double>())) fail<UsageError>("recipe: {} is not finite", row.shown.name);
  return value;
}

bool was_given(const Row& row, const Request& asked, const Request& told) {
  return row.own ? !row.value(asked).is_null() : !is_unsaid(row, kept_value(row, told));
}

// Places a value, in the object that it belongs to. Those of families are in the order of the alphabet there.
void put(Json& recipe, const Row& row, const Json& value) {
  if (row.told.object.empty()) {
    recipe[key_of(row)] = value;
    return;
  }
  Json& object = recipe[std::string(row.told.object)];
  object[key_of(row)] = value;
  if (row.own) object = object.get<std::map<std::string, Json>>();
}

void put_given(Json& recipe, const RecipeFacts& facts, const Request& asked, const Request& told) {
  std::set<std::string_view> objects;
  for (const Row* row : kept_rows(false))
    if (was_given(*row, asked, told)) objects.insert(row->told.object);
  for (const Row* row : kept_rows(false)) {
    const bool beside = row->told.keep == Keep::beside && objects.contains(row->told.object);
    if (!beside && !was_given(*row, asked, told)) continue;
    if (row->told.object == "refiner") recipe["refiner"]["name"] = facts.refiner;  // which is no setting
    put(recipe, *row, kept_value(*row, row->own ? asked : told));
  }
}

// What a value must be: "a whole number".
std::string_view wanted(const Row& row, const Json& value) {
  const auto all = [&](auto is) { return std::ranges::all_of(value, is); };
  const auto text = [](const Json& v) { return v.is_string(); };
  const auto number = [](const Json& v) { return v.is_number(); };
  if (row.told.report == Report::in_object) return value.is_array() && all(number) ? "" : "a list of numbers";
  switch (row.form) {
    case Form::text: return value.is_string() ? "" : "a text";
    case Form::whole: return value.is_number_integer() ? "" : "a whole number";
    case Form::number: return value.is_number() ? "" : "a number";
    case Form::toggle: return value.is_boolean() ? "" : "true or false";
    case Form::list:
    case Form::size: return value.is_array() && all(number) ? "" : "a list of numbers";
    case Form::options: return value.is_object() && all(text) ? "" : "texts by name";
    case Form::names: return value.is_array() && all(text) ? "" : "a list of texts";
  }
  return "";
}

void check(const Json& recipe, const Row& row) {
  const Json value = kept_in(recipe, row);
  if (value.is_null()) {
    if (row.told.keep == Keep::always && !row.told.earlier) fail<IoError>("recipe: {} is missing", row.shown.name);
    return;
  }
  if (const std::string_view what = wanted(row, value); !what.empty())
    fail<IoError>("recipe: {} is {}, needed {}", row.shown.name, value.dump(), what);
}

// What is no setting.
void check_facts(const Json& recipe) {
  recipe.at("hearth").get<std::string>();
  const Json& model = recipe.at("model");
  model.at("name").get<std::string>(), model.at("family").get<std::string>();
  model.at("hashes").get<std::map<std::string, std::string>>();
  recipe.at("precision").get<std::string>(), recipe.at("noise").get<std::string>();
  recipe.at("defaults").get<std::vector<std::string>>();
  if (recipe.contains("refiner")) recipe.at("refiner").at("name").get<std::string>();
  if (recipe.contains("flags")) recipe.at("flags").get<std::map<std::string, std::string>>();
}

}  // namespace

std::vector<std::string> defaults_of(const Request& asked, const Request& told) {
  std::vector<std::string> names;
  for (const Row& row : rows()) {
    const bool open = row.own ? row.told.keep == Keep::always && row.value(asked).is_null() && !row.value(told).is_null()
                              : row.told.left_open && row.told.left_open(asked);
    if (open) names.push_back(row.shown.name);
  }
  return names;
}

std::map<std::string, std::string> flags_of(const Request& asked, const Request& told) {
  std::map<std::string, std::string> flags;
  for (const Row& row : rows()) {
    if (row.told.report != Report::among_flags && row.told.report != Report::both) continue;
    const Json value = row.value(told);
    if (is_unsaid(row, value)) continue;
    const std::string flag = flag_of(row.shown);
    flags[flag] = typed(row, value).at(0);
    if (row.image) flags[flag + "-sha256"] = sum_of(*row.image(asked));
  }
  return flags;
}

std::string write_recipe(const RecipeFacts& facts, const Request& asked, const Request& told) {
  Json hashes = Json::object();
  for (const auto& [component, hash] : facts.hashes) hashes[component] = hash;
  Json recipe = {
      {"hearth", facts.version}, {"format", format}, {"model", {{"name", facts.model}, {"family", facts.family}, {"hashes", hashes}}}};
  for (const Row* row : kept_rows(true))
    if (const Json value = kept_value(*row, told); !value.is_null()) put(recipe, *row, value);
  recipe["precision"] = facts.precision;
  recipe["noise"] = told.noise ? "file" : "seed";
  recipe["defaults"] = defaults_of(asked, told);
  put_given(recipe, facts, asked, told);
  std::map<std::string, std::string> flags = flags_of(asked, told);
  flags.insert(facts.flags.begin(), facts.flags.end());
  if (!flags.empty()) recipe["flags"] = flags;
  try {
    return recipe.dump();
  } catch (const Json::exception& e) { fail<UsageError>("recipe: a text is not valid UTF-8 ({})", e.what()); }
}

Json read_recipe(std::string_view text) {
  try {
    const Json recipe = Json::parse(text);
    const Json& found = recipe.at("format");
    if (!found.is_number_integer() || found != format)
      fail<IoError>("recipe: format {}, this version reads format {}", found.dump(), format);
    check_facts(recipe);
    for (const Row& row : rows()) check(recipe, row);
    return recipe;
  } catch (const Json::exception& e) { fail<IoError>("recipe: not a description of an image: {}", e.what()); }
}

Json kept_in(const Json& recipe, const Row& row) {
  if (row.told.keep == Keep::never) return nullptr;
  const std::string object(row.told.object), key = key_of(row);
  const Json* place = &recipe;
  if (!object.empty()) {
    if (!recipe.contains(object)) return nullptr;
    place = &recipe.at(object);
  }
  if (place->contains(key)) return place->at(key);
  return row.told.earlier && !row.told.earlier->empty() ? Json(*row.told.earlier) : Json(nullptr);
}

}  // namespace hearth::api
