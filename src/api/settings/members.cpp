#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "api/settings/members.h"
#include "core/utf8.h"
#include "core/values.h"

namespace hearth::api {
namespace {

// Of a setting's range; what has no limit takes any.
int64_t limit(double bound, int64_t none) { return std::isinf(bound) ? none : int64_t(bound); }

}  // namespace

Json nothing() { return nullptr; }
Json told(bool value) { return value; }
Json told(int64_t value) { return value; }
Json told(uint64_t value) { return value; }
Json told(double value) { return value; }
Json told(std::string_view value) { return valid_utf8(value); }
Json told(const std::array<int64_t, 2>& value) { return value; }
Json told(const std::array<int64_t, 4>& value) { return value; }
Json told(const std::array<double, 2>& value) { return value; }
Json told(const std::vector<double>& value) { return value; }
Json told(const std::map<std::string, std::string>& value) { return value; }
Json told(const std::map<std::string, double>& value) { return value; }

template <> bool read<bool>(const std::string& text, const Setting&) {
  if (text.empty() || text == "true") return true;
  if (text != "false") fail<UsageError>("'{}' is no switch, needed true or false", text);
  return false;
}
template <> int64_t read<int64_t>(const std::string& text, const Setting& s) {
  return parse_integer(text, limit(s.least, std::numeric_limits<int64_t>::min()), limit(s.most, std::numeric_limits<int64_t>::max()));
}
template <> uint64_t read<uint64_t>(const std::string& text, const Setting&) { return parse_seed(text); }
template <> double read<double>(const std::string& text, const Setting& s) {
  const double number = parse_number(text);
  if (number < s.least || number > s.most) fail<UsageError>("{}, needed {} to {}", text, s.least, s.most);
  return number;
}
template <> std::string read<std::string>(const std::string& text, const Setting&) { return text; }
template <> std::array<double, 2> read<std::array<double, 2>>(const std::string& text, const Setting&) { return parse_interval(text); }
template <> std::array<int64_t, 4> read<std::array<int64_t, 4>>(const std::string& text, const Setting& s) {
  const std::vector<int32_t> numbers = parse_ids(text);
  if (numbers.size() != 4) fail<UsageError>("'{}' has {} numbers, needed four: {}", text, numbers.size(), s.type);
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}
template <> std::vector<double> read<std::vector<double>>(const std::string& text, const Setting&) { return parse_numbers(text); }

Setting completed(Setting shown, const Row& row) {
  if (row.form == Form::options) shown.type = "NAME=VALUE", shown.repeatable = true;
  if (shown.type.empty()) {
    if (!shown.choices.empty()) shown.type = fmt::format("{}", fmt::join(shown.choices, "|"));
    else if (row.form == Form::whole) shown.type.assign(1, 'N');  // GCC 12 takes the copy of a text of one letter for an overlap
    else if (row.form == Form::number) shown.type.assign(1, 'X');
  }
  if (shown.standard.empty())
    if (const std::vector<std::string> own = typed(row, row.value(Request())); !own.empty()) shown.standard = own[0];
  return shown;
}

}  // namespace hearth::api
