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

// By name. The value of an option with choices is the index of the choice, that of a set of indices is Σ 2ⁱ.
using Options = std::map<std::string, double, std::less<>>;

struct Option {
  std::string_view name, summary;
  double standard = 0;
  double least = 0, most = std::numeric_limits<double>::infinity();
  bool whole = false;                          // an integer
  std::vector<std::string_view> choices = {};  // the names of its values
  std::vector<std::string_view> earlier = {};  // names that choices had before, in the same order; still accepted
  bool indices = false;                        // a set of at least one index from 0 to most_index: "7,8,9"
};
inline constexpr int64_t most_index = 52;  // doubles have 53 bits

// The value of a set of indices, and the indices, ascending.
double set_of(std::initializer_list<int64_t> indices);
std::vector<int64_t> indices_of(double set);

// The value as users write it: a number, the name of a choice, or indices.
std::string text_of(const Option& option, double value);

// `given`, completed with the defaults of all other `known` options. UsageError for an unknown option (listing the known ones) or a value
// out of range; `owner` starts the message: "sampler 'euler'".
Options resolve_options(std::string_view owner, std::span<const Option> known, const Options& given);

// The same from text as users write it: numbers, names of choices, or indices with commas. UsageError for any other text.
Options parse_options(std::string_view owner, std::span<const Option> known, const std::map<std::string, std::string>& given);

}  // namespace hearth::sampling
