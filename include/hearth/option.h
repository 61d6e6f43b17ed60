// Values of family-specific options, by name (Request::options). list_settings() lists them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <variant>

namespace hearth {

// An integer, a number, a text, or a pair: width and height, or x and y.
using OptionValue = std::variant<int64_t, double, std::string, std::array<int64_t, 2>>;
using OptionValues = std::map<std::string, OptionValue>;

}  // namespace hearth
