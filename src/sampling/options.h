// Named options of samplers and of guidance.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::sampling {

// By name. The value of an option with choices is the index of the choice.
using Options = std::map<std::string, double, std::less<>>;

struct Option {
  std::string_view name, summary;
  double standard = 0;
  double least = 0, most = std::numeric_limits<double>::infinity();
  bool whole = false;                          // an integer
  std::vector<std::string_view> choices = {};  // the names of its values
  std::vector<std::string_view> earlier = {};  // names that choices had before, in the same order; still accepted
};

// The value as users write it: a number, or the name of a choice.
std::string text_of(const Option& option, double value);

// `given`, completed with the defaults of all other `known` options. UsageError for an unknown option (listing the known ones) or a value
// out of range; `owner` starts the message: "sampler 'euler'".
Options resolve_options(std::string_view owner, std::span<const Option> known, const Options& given);

// The same from text as users write it: numbers, or names of choices. UsageError for any other text.
Options parse_options(std::string_view owner, std::span<const Option> known, const std::map<std::string, std::string>& given);

}  // namespace hearth::sampling
