#include "api/settings/setting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/settings/options.h"
#include "api/settings/table.h"
#include "core/error.h"
#include "core/text/suggest.h"

namespace hearth {
namespace api {
namespace {

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  return value.dump();
}

std::string joined(const Json& values, std::string_view between) {
  std::vector<std::string> texts;
  for (const Json& value : values) texts.push_back(text_of(value));
  return fmt::format("{}", fmt::join(texts, between));
}

}  // namespace

const std::vector<Row>& rows() {
  static const std::vector<Row> all = with_options(shared_rows(), options_of_families());
  return all;
}

const Row& row_of(std::string_view name) {
  const auto found = std::ranges::find(rows(), name, [](const Row& row) -> std::string_view { return row.setting.name; });
  if (found != rows().end()) return *found;
  std::vector<std::string> names;
  for (const Row& row : rows()) names.push_back(row.setting.name);
  fail<UsageError>("unknown setting '{}'{}", name, did_you_mean(name, names));
}

std::string flag_of(const Setting& setting) {
  const size_t begin = setting.flags.find("--") + 2;
  return setting.flags.substr(begin, setting.flags.find(',', begin) - begin);
}

std::vector<std::string> typed(const Row& row, const Json& value) {
  std::vector<std::string> texts;
  if (value.is_null()) return texts;
  switch (row.form) {
    case Form::toggle:
      if (value.get<bool>()) texts.emplace_back();
      break;
    case Form::options:
      for (const auto& [name, option] : value.items()) texts.push_back(fmt::format("{}={}", name, text_of(option)));
      break;
    case Form::names:
      for (const Json& name : value) texts.push_back(text_of(name));
      break;
    case Form::files:
      for (const Json& file : value) texts.push_back(text_of(file.is_object() ? file.at("file") : file));
      break;
    case Form::size: texts.push_back(joined(value, "x")); break;
    default: texts.push_back(value.is_array() ? joined(value, ",") : text_of(value));
  }
  return texts;
}

bool is_omitted(const Row& row, const Json& value) {
  const std::vector<std::string> texts = typed(row, value);
  if (texts.empty()) return true;
  if (row.reporting.omitted_value) return texts == *row.reporting.omitted_value;
  return row.reporting.keep != Keep::always && texts == typed(row, row.value(Request()));
}

std::vector<std::string> prompts_of(const Request& r) {
  std::vector<std::string> prompts{r.prompt};
  if (r.negative_prompt) prompts.push_back(*r.negative_prompt);
  for (const auto& [name, value] : r.options)
    if (const auto* text = std::get_if<std::string>(&value)) prompts.push_back(*text);
  return prompts;
}

}  // namespace api

std::vector<Setting> list_settings() {
  std::vector<Setting> settings;
  for (const api::Row& row : api::rows()) settings.push_back(row.setting);
  return settings;
}

void set(Request& request, std::string_view name, const std::string& value) { api::row_of(name).set(request, value); }

}  // namespace hearth
