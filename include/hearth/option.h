// The options that only some model families have, by name: Request::options.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace hearth {

// A whole number, a number, a text, or a pair: width and height, or x and y.
using OptionValue = std::variant<int64_t, double, std::string, std::array<int64_t, 2>>;
using OptionValues = std::map<std::string, OptionValue>;

enum class OptionType { integer, number, text, size /* 1024x768 */, point /* 16,8 */ };

struct ModelOption {
  std::string name;  // "clip_skip"; the command's flag is --clip-skip
  OptionType type = OptionType::integer;
  std::string summary;                // one line
  std::string standard;               // what holds where it is not given, in words; by family where they differ
  double least = 0, most = 0;         // range of numbers; may be infinite
  std::vector<std::string> families;  // that have it
};

// Of all families of this build, each option once.
std::vector<ModelOption> list_model_options();
// A value as people write it, and back. UsageError for what is none, or out of range.
OptionValue parse_option(const ModelOption& option, std::string_view text);
std::string text_of(const OptionValue& value, OptionType type);

}  // namespace hearth
