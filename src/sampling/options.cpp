#include "sampling/options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/error.h"
#include "sampling/names.h"

namespace hearth::sampling {
namespace {

void check(std::string_view owner, const Option& o, double value) {
  if (o.indices) {
    if (value >= 1 && value < double(int64_t(1) << (most_index + 1)) && value == std::floor(value)) return;
    fail<UsageError>("{}: {} is no set of indices, expected some from 0 to {}", owner, o.name, most_index);
  }
  const bool fits = value >= o.least && value <= o.most && (!o.whole || value == std::floor(value));
  if (fits) return;
  const std::string range = std::isinf(o.most) ? fmt::format("at least {}", o.least) : fmt::format("{} … {}", o.least, o.most);
  fail<UsageError>("{}: {} is {}, expected {}{}", owner, o.name, value, o.whole ? "a whole number, " : "", range);
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || std::isnan(value)) return std::nullopt;
  return value;
}

double indices_in(std::string_view owner, const Option& o, std::string_view text) {
  int64_t set = 0;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::optional<double> index = number_in(text.substr(begin, end - begin));
    if (!index || *index < 0 || *index > double(most_index) || *index != std::floor(*index))
      fail<UsageError>("{}: {} is '{}', expected indices from 0 to {} with commas, as in 7,8,9", owner, o.name, text, most_index);
    set |= int64_t(1) << int64_t(*index);
    begin = end + 1;
  }
  return double(set);
}

}  // namespace

double set_of(std::initializer_list<int64_t> indices) {
  int64_t set = 0;
  for (const int64_t i : indices) set |= int64_t(1) << i;
  return double(set);
}

std::vector<int64_t> indices_of(double set) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i <= most_index; ++i)
    if (int64_t(set) >> i & 1) indices.push_back(i);
  return indices;
}

std::string text_of(const Option& option, double value) {
  if (option.indices) return fmt::format("{}", fmt::join(indices_of(value), ","));
  return option.choices.empty() ? fmt::format("{}", value) : std::string(option.choices[size_t(value)]);
}

Options resolve_options(std::string_view owner, std::span<const Option> known, const Options& given) {
  Options all;
  std::string names;
  for (const Option& o : known) {
    const auto own = given.find(o.name);
    if (own != given.end()) check(owner, o, own->second);
    all.emplace(o.name, own == given.end() ? o.standard : own->second);
    names += (names.empty() ? "" : ", ") + std::string(o.name);
  }
  for (const auto& [name, value] : given)
    if (!all.contains(name))
      fail<UsageError>("{}: option '{}' is unknown, expected {}", owner, name, names.empty() ? "none" : "one of " + names);
  return all;
}

Options parse_options(std::string_view owner, std::span<const Option> known, const std::map<std::string, std::string>& given) {
  Options options;
  for (const auto& entry : given) {
    const std::string &name = entry.first, &text = entry.second;
    const auto option = std::ranges::find(known, name, &Option::name);
    double value = 0;
    if (option != known.end() && !option->choices.empty()) {
      const auto place = [&](const std::vector<std::string_view>& names) {
        return size_t(std::ranges::find_if(names, [&](std::string_view c) { return folded(c) == folded(text); }) - names.begin());
      };
      const size_t now = place(option->choices), before = place(option->earlier);
      if (now == option->choices.size() && before == option->earlier.size())
        fail<UsageError>("{}: {} is '{}', expected one of {}", owner, name, text, fmt::join(option->choices, ", "));
      value = double(now < option->choices.size() ? now : before);
    } else if (option != known.end() && option->indices) {
      value = indices_in(owner, *option, text);
    } else {
      const std::optional<double> number = number_in(text);
      if (!number) fail<UsageError>("{}: {} is '{}', which is not a number", owner, name, text);
      value = *number;
    }
    options.emplace(name, value);
  }
  return resolve_options(owner, known, options);
}

}  // namespace hearth::sampling
