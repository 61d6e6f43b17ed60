#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "api/settings/members.h"
#include "core/text/utf8.h"
#include "core/text/values.h"

namespace hearth::api {
namespace {

// An end of a setting's range; `none` if it is open.
int64_t limit(double bound, int64_t none) { return std::isinf(bound) ? none : int64_t(bound); }

}  // namespace

Json no_value() { return nullptr; }
Json json_of(bool value) { return value; }
Json json_of(int64_t value) { return value; }
Json json_of(uint64_t value) { return value; }
Json json_of(double value) { return value; }
Json json_of(std::string_view value) { return valid_utf8(value); }
Json json_of(const std::array<int64_t, 2>& value) { return value; }
Json json_of(const std::array<int64_t, 4>& value) { return value; }
Json json_of(const std::array<double, 2>& value) { return value; }
Json json_of(const std::vector<double>& value) { return value; }
Json json_of(const std::map<std::string, std::string>& value) { return value; }
Json json_of(const std::map<std::string, double>& value) { return value; }

template <> bool read<bool>(const std::string& text, const Setting&) {
  if (text.empty() || text == "true") return true;
  if (text != "false") fail<UsageError>("'{}' is not a switch value, expected true or false", text);
  return false;
}
template <> int64_t read<int64_t>(const std::string& text, const Setting& s) {
  return parse_integer(text, limit(s.minimum, std::numeric_limits<int64_t>::min()), limit(s.maximum, std::numeric_limits<int64_t>::max()));
}
template <> uint64_t read<uint64_t>(const std::string& text, const Setting&) { return parse_seed(text); }
template <> double read<double>(const std::string& text, const Setting& s) {
  const double number = parse_number(text);
  if (number < s.minimum || number > s.maximum) fail<UsageError>("{} is out of range, expected {} to {}", text, s.minimum, s.maximum);
  return number;
}
template <> std::string read<std::string>(const std::string& text, const Setting&) { return text; }
template <> std::array<double, 2> read<std::array<double, 2>>(const std::string& text, const Setting&) { return parse_interval(text); }
template <> std::array<int64_t, 4> read<std::array<int64_t, 4>>(const std::string& text, const Setting& s) {
  const std::vector<int32_t> numbers = parse_ids(text);
  if (numbers.size() != 4) fail<UsageError>("'{}' has {} numbers, expected four: {}", text, numbers.size(), s.type);
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}
template <> std::vector<double> read<std::vector<double>>(const std::string& text, const Setting&) { return parse_numbers(text); }

Setting completed(Setting setting, const Row& row) {
  if (row.form == Form::options) setting.type = "NAME=VALUE", setting.repeatable = true;
  if (setting.type.empty()) {
    if (!setting.choices.empty()) setting.type = fmt::format("{}", fmt::join(setting.choices, "|"));
    else if (row.form == Form::whole) setting.type.assign(1, 'N');  // GCC 12 warns of an overlap when a text of one letter is assigned
    else if (row.form == Form::number) setting.type.assign(1, 'X');
  }
  if (setting.default_text.empty())
    if (const std::vector<std::string> own = typed(row, row.value(Request())); !own.empty()) setting.default_text = own[0];
  return setting;
}

}  // namespace hearth::api
