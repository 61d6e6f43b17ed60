// Options of a family beyond those that all families share: rows of data in the family's folder. Flags, help, reports, metadata and
// `hearth rerun` iterate over the rows; nothing else knows an option by its name. If several families have an option of one name,
// their rows may differ only in `standard` and `most`.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "hearth/option.h"

namespace hearth::models {

struct Option {
  enum class Type {
    integer,
    number,
    text,
    size,    // 1024x768
    point,   // 16,8
    toggle,  // a flag without a value; the integer 1 if it is given
  };

  std::string_view name;  // "clip_skip": its key in Request::options, reports and metadata. The flag is --clip-skip
  Type type = Type::integer;
  std::string_view summary;   // one line of help
  std::string_view standard;  // the default in words: "1", "--prompt"
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();  // of numbers
  std::string_view group = {};        // reports and metadata put the options given of a group into an object of this name
  std::string_view after = "height";  // the setting (api/settings/table.cpp) that it follows in help, reports and metadata
  bool stated = false;                // metadata record the value used even if it was not given
  std::string_view a1111 = {};        // its name in A1111's parameters, which record it if it is not 1

  friend bool operator==(const Option&, const Option&) = default;
};

// UsageError for a value of another type than the option's, or a number out of range.
void check(const Option& option, const OptionValue& value);

// The value given for an option of that type; nothing if none was given.
template <class T> std::optional<T> option_of(const OptionValues& given, std::string_view name) {
  const auto found = given.find(std::string(name));
  return found == given.end() ? std::nullopt : std::optional<T>(std::get<T>(found->second));
}

}  // namespace hearth::models
