#include "api/settings/recipe.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "api/image/editing.h"
#include "core/error.h"

namespace hearth::api {
namespace {

constexpr int64_t format = 1;

std::string key_of(const Row& row) { return std::string(row.reporting.key.empty() ? row.setting.name : row.reporting.key); }

// The rows that metadata stores, in its order.
std::vector<const Row*> stored_rows(bool always) {
  std::vector<const Row*> stored;
  for (const Row& row : rows())
    if (row.reporting.keep != Keep::never && (row.reporting.keep == Keep::always) == always) stored.push_back(&row);
  std::ranges::stable_sort(stored, {}, [](const Row* row) { return row->reporting.order; });
  return stored;
}

Json metadata_value_of(const Row& row, const Request& used) {
  const Json value = row.reporting.metadata_value ? row.reporting.metadata_value(used) : row.value(used);
  if (value.is_number_float() && !std::isfinite(value.get<double>())) fail<UsageError>("recipe: {} is not finite", row.setting.name);
  return value;
}

bool was_given(const Row& row, const Request& requested, const Request& used) {
  return row.of_caller ? !row.value(requested).is_null() : !is_omitted(row, metadata_value_of(row, used));
}

// Adds a value to the object that it belongs to, in which the options of families are sorted by name.
void put(Json& recipe, const Row& row, const Json& value) {
  if (row.reporting.object.empty()) {
    recipe[key_of(row)] = value;
    return;
  }
  Json& object = recipe[std::string(row.reporting.object)];
  object[key_of(row)] = value;
  if (row.of_caller) object = object.get<std::map<std::string, Json>>();
}

void put_given(Json& recipe, const RecipeFacts& facts, const Request& requested, const Request& used) {
  std::set<std::string_view> objects;
  for (const Row* row : stored_rows(false))
    if (was_given(*row, requested, used)) objects.insert(row->reporting.object);
  for (const Row* row : stored_rows(false)) {
    const bool beside = row->reporting.keep == Keep::beside && objects.contains(row->reporting.object);
    if (!beside && !was_given(*row, requested, used)) continue;
    if (row->reporting.object == "refiner") recipe["refiner"]["name"] = facts.refiner;  // which is not a setting
    put(recipe, *row, metadata_value_of(*row, row->of_caller ? requested : used));
  }
}

// The expected kind of value, "a whole number", or "" if the value is of that kind.
std::string_view expected_kind(const Row& row, const Json& value) {
  const auto all = [&](auto is) { return std::ranges::all_of(value, is); };
  const auto text = [](const Json& v) { return v.is_string(); };
  const auto number = [](const Json& v) { return v.is_number(); };
  const auto file = [](const Json& v) { return v.is_object() && v.contains("file") && v.at("file").is_string(); };
  if (row.reporting.report == Report::in_object) return value.is_array() && all(number) ? "" : "a list of numbers";
  switch (row.form) {
    case Form::text: return value.is_string() ? "" : "a string";
    case Form::whole: return value.is_number_integer() ? "" : "a whole number";
    case Form::number: return value.is_number() ? "" : "a number";
    case Form::toggle: return value.is_boolean() ? "" : "true or false";
    case Form::list:
    case Form::size: return value.is_array() && all(number) ? "" : "a list of numbers";
    case Form::options: return value.is_object() && all(text) ? "" : "strings by name";
    case Form::names: return value.is_array() && all(text) ? "" : "a list of strings";
    case Form::files: return value.is_array() && all(file) ? "" : "a list of files";
  }
  return "";
}

void check(const Json& recipe, const Row& row) {
  const Json value = stored_value(recipe, row);
  if (value.is_null()) {
    if (row.reporting.keep == Keep::always && !row.reporting.value_if_missing) fail<IoError>("recipe: {} is missing", row.setting.name);
    return;
  }
  if (const std::string_view what = expected_kind(row, value); !what.empty())
    fail<IoError>("recipe: {} is {}, expected {}", row.setting.name, value.dump(), what);
}

// The keys that are not settings.
void check_facts(const Json& recipe) {
  recipe.at("hearth").get<std::string>();
  const Json& model = recipe.at("model");
  model.at("name").get<std::string>(), model.at("family").get<std::string>();
  model.at("hashes").get<std::map<std::string, std::string>>();
  recipe.at("precision").get<std::string>(), recipe.at("noise").get<std::string>();
  recipe.at("defaults").get<std::vector<std::string>>();
  if (recipe.contains("ended_after")) recipe.at("ended_after").get<int64_t>();
  if (recipe.contains("refiner")) recipe.at("refiner").at("name").get<std::string>();
  if (recipe.contains("flags")) recipe.at("flags").get<std::map<std::string, std::string>>();
}

}  // namespace

std::vector<std::string> defaults_of(const Request& requested, const Request& used) {
  std::vector<std::string> names;
  for (const Row& row : rows()) {
    const bool is_default = row.of_caller
                                ? row.reporting.keep == Keep::always && row.value(requested).is_null() && !row.value(used).is_null()
                                : row.reporting.is_default && row.reporting.is_default(requested);
    if (is_default) names.push_back(row.setting.name);
  }
  return names;
}

std::map<std::string, std::string> flags_of(const Request& requested, const Request& used) {
  std::map<std::string, std::string> flags;
  for (const Row& row : rows()) {
    if (row.reporting.report != Report::among_flags && row.reporting.report != Report::both) continue;
    const Json value = row.value(used);
    if (is_omitted(row, value)) continue;
    const std::string flag = flag_of(row.setting);
    flags[flag] = typed(row, value).at(0);
    if (row.image) flags[flag + "-sha256"] = sum_of(*row.image(requested));
  }
  return flags;
}

std::string write_recipe(const RecipeFacts& facts, const Request& requested, const Request& used) {
  Json hashes = Json::object();
  for (const auto& [component, hash] : facts.hashes) hashes[component] = hash;
  Json recipe = {
      {"hearth", facts.version}, {"format", format}, {"model", {{"name", facts.model}, {"family", facts.family}, {"hashes", hashes}}}};
  for (const Row* row : stored_rows(true))
    if (const Json value = metadata_value_of(*row, used); !value.is_null()) put(recipe, *row, value);
  recipe["precision"] = facts.precision;
  recipe["noise"] = used.noise ? "file" : "seed";
  recipe["defaults"] = defaults_of(requested, used);
  if (facts.ended_after > 0) recipe["ended_after"] = facts.ended_after;
  put_given(recipe, facts, requested, used);
  std::map<std::string, std::string> flags = flags_of(requested, used);
  flags.insert(facts.flags.begin(), facts.flags.end());
  if (!flags.empty()) recipe["flags"] = flags;
  try {
    return recipe.dump();
  } catch (const Json::exception& e) { fail<UsageError>("recipe: a string is not valid UTF-8 ({})", e.what()); }
}

Json read_recipe(std::string_view text) {
  try {
    const Json recipe = Json::parse(text);
    const Json& found = recipe.at("format");
    if (!found.is_number_integer() || found != format)
      fail<IoError>("recipe: format {} is not supported, expected format {}", found.dump(), format);
    check_facts(recipe);
    for (const Row& row : rows()) check(recipe, row);
    return recipe;
  } catch (const Json::exception& e) { fail<IoError>("recipe: not the metadata of an image: {}", e.what()); }
}

Json stored_value(const Json& recipe, const Row& row) {
  if (row.reporting.keep == Keep::never) return nullptr;
  const std::string object(row.reporting.object), key = key_of(row);
  const Json* place = &recipe;
  if (!object.empty()) {
    if (!recipe.contains(object)) return nullptr;
    place = &recipe.at(object);
  }
  if (place->contains(key)) return place->at(key);
  return row.reporting.value_if_missing && !row.reporting.value_if_missing->empty() ? Json(*row.reporting.value_if_missing) : Json(nullptr);
}

}  // namespace hearth::api
