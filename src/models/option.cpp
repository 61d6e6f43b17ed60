#include "models/option.h"

#include <cmath>

#include "core/error.h"

namespace hearth::models {
namespace {

struct Kind {
  size_t index;  // in OptionValue
  std::string_view name;
};

Kind kind_of(Option::Type type) {
  switch (type) {
    case Option::Type::integer: return {0, "a whole number"};
    case Option::Type::number: return {1, "a number"};
    case Option::Type::text: return {2, "a text"};
    case Option::Type::toggle: return {0, "0 or 1"};
    default: return {3, "a pair of whole numbers"};
  }
}

}  // namespace

void check(const Option& option, const OptionValue& value) {
  const Kind kind = kind_of(option.type);
  if (value.index() != kind.index)
    fail<UsageError>("generate: option '{}' has a value of another type, expected {}", option.name, kind.name);
  if (option.type == Option::Type::toggle && std::get<int64_t>(value) != 0 && std::get<int64_t>(value) != 1)
    fail<UsageError>("generate: {} is {}, expected 0 or 1", option.name, std::get<int64_t>(value));
  const auto in_range = [&](double number) {
    if (number >= option.least && number <= option.most) return;
    const std::string range =
        std::isinf(option.most) ? fmt::format("at least {}", option.least) : fmt::format("{} to {}", option.least, option.most);
    fail<UsageError>("generate: {} is {}, expected {}", option.name, number, range);
  };
  if (const auto* integer = std::get_if<int64_t>(&value)) in_range(double(*integer));
  if (const auto* number = std::get_if<double>(&value)) in_range(*number);
  if (const auto* pair = std::get_if<std::array<int64_t, 2>>(&value))
    for (const int64_t side : *pair) in_range(double(side));
}

}  // namespace hearth::models
