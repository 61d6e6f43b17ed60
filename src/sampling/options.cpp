#include "sampling/options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "sampling/names.h"

namespace hearth::sampling {
namespace {

void check(std::string_view owner, const Option& o, double value) {
  const bool fits = value >= o.least && value <= o.most && (!o.whole || value == std::floor(value));
  if (fits) return;
  const std::string range = std::isinf(o.most) ? fmt::format("at least {}", o.least) : fmt::format("{} … {}", o.least, o.most);
  fail<UsageError>("{}: {} is {}, expected {}{}", owner, o.name, value, o.whole ? "a whole number, " : "", range);
}

}  // namespace

std::string text_of(const Option& option, double value) {
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
    } else {
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size() || std::isnan(value))
        fail<UsageError>("{}: {} is '{}', which is not a number", owner, name, text);
    }
    options.emplace(name, value);
  }
  return resolve_options(owner, known, options);
}

}  // namespace hearth::sampling
