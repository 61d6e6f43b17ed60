#include "api/model_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "models/registry.h"
#include "text/unicode.h"

namespace hearth {
namespace api {
namespace {

using Json = nlohmann::ordered_json;

template <class F> void for_each_option(F f) {
  for (const models::Entry& entry : models::entries())
    if (const auto* family = std::get_if<models::ImageFamily>(&entry.task))
      for (const models::Option& option : family->options) f(option, entry.name);
}

// A text as PNG and JSON can hold it.
OptionValue as_utf8(const OptionValue& value) {
  const auto* written = std::get_if<std::string>(&value);
  return written ? OptionValue(text::encode_utf8(text::decode_utf8(*written))) : value;
}

const OptionValue* find(const OptionValues& values, std::string_view name) {
  const auto found = values.find(std::string(name));
  return found == values.end() ? nullptr : &found->second;
}

}  // namespace

std::vector<models::Option> model_options() {
  std::vector<models::Option> all;
  for_each_option([&](const models::Option& option, std::string_view) {
    if (std::ranges::find(all, option.name, &models::Option::name) == all.end()) all.push_back(option);
  });
  return all;
}

void add_options(Json& report, const OptionValues& given, const OptionValues& used) {
  for (const models::Option& option : model_options()) {
    const std::string name(option.name);
    const OptionValue* value = find(option.group.empty() ? used : given, option.name);
    if (option.group.empty()) {
      report[name] = value ? json_of(as_utf8(*value)) : Json();
      continue;
    }
    Json& group = report[std::string(option.group)];
    if (group.is_null()) group = Json::object();
    if (value) group[name] = grouped_json_of(*value);
  }
}

std::vector<RecipeOption> recipe_options(const OptionValues& given, const OptionValues& used) {
  std::vector<RecipeOption> all = known_recipe_options();
  std::erase_if(all, [&](RecipeOption& option) {
    const OptionValue* value = find(option.stated ? used : given, option.name);
    if (value) option.value = as_utf8(*value);
    return value == nullptr;
  });
  return all;
}

std::vector<std::string> options_left_open(const OptionValues& given, const OptionValues& used) {
  std::vector<std::string> names;
  for (const models::Option& option : model_options())
    if (option.stated && !find(given, option.name) && find(used, option.name)) names.emplace_back(option.name);
  return names;
}

std::vector<RecipeOption> known_recipe_options() {
  std::vector<RecipeOption> all;
  for (const models::Option& option : model_options())
    all.push_back({.name = std::string(option.name),
                   .group = std::string(option.group),
                   .type = option.type,
                   .stated = option.stated,
                   .a1111 = std::string(option.a1111)});
  return all;
}

}  // namespace api

std::vector<ModelOption> list_model_options() {
  std::vector<ModelOption> all;
  std::vector<std::vector<std::string>> standards;
  api::for_each_option([&](const models::Option& option, std::string_view family) {
    auto at = std::ranges::find(all, option.name, &ModelOption::name);
    if (at == all.end()) {
      at = all.insert(at, {.name = std::string(option.name),
                           .type = option.type,
                           .summary = std::string(option.summary),
                           .least = option.least,
                           .most = option.most});
      standards.emplace_back();
    }
    at->families.emplace_back(family);
    standards[size_t(at - all.begin())].emplace_back(option.standard);
  });
  for (size_t i = 0; i < all.size(); ++i) {
    const std::vector<std::string>& words = standards[i];
    const bool same = std::ranges::all_of(words, [&](const std::string& w) { return w == words[0]; });
    for (size_t k = 0; k < words.size() && !same; ++k)
      all[i].standard += fmt::format("{}{}: {}", k ? ", " : "", all[i].families[k], words[k]);
    if (same) all[i].standard = words[0];
  }
  return all;
}

std::string text_of(const OptionValue& value, OptionType type) {
  if (const auto* pair = std::get_if<std::array<int64_t, 2>>(&value))
    return fmt::format("{}{}{}", (*pair)[0], type == OptionType::point ? ',' : 'x', (*pair)[1]);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return fmt::format("{}", std::get<int64_t>(value));
}

OptionValue parse_option(const ModelOption& option, std::string_view text) {
  const auto number = [&]<class T>(std::string_view digits, T value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(double(value)))
      fail<UsageError>("'{}' is not {}", text, option.type == OptionType::number ? "a number" : "of whole numbers");
    if (double(value) >= option.least && double(value) <= option.most) return value;
    if (std::isinf(option.most)) fail<UsageError>("{} is too small, needed at least {}", digits, option.least);
    fail<UsageError>("{} does not fit, needed {} to {}", digits, option.least, option.most);
  };
  if (option.type == OptionType::text) return std::string(text);
  if (option.type == OptionType::integer) return number(text, int64_t());
  if (option.type == OptionType::number) return number(text, double());
  const bool point = option.type == OptionType::point;
  const size_t at = text.find_first_of(point ? "," : "xX");
  if (at == text.npos) fail<UsageError>("'{}' is not of the form {}", text, point ? "X,Y" : "WxH");
  return std::array<int64_t, 2>{number(text.substr(0, at), int64_t()), number(text.substr(at + 1), int64_t())};
}

}  // namespace hearth
