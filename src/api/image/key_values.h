// Values of a flag that has several parts: "path=PATH,image=FILE,scale=0.5".
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace hearth::api {

struct ValueKey {
  std::string_view name;
  bool path = false;  // its value may contain commas: it ends before the next key
};

// `what` begins messages. UsageError for a part that does not begin with one of the keys, for a key that is given twice, and for a path
// that does not exist and seems to contain a mistyped key, with the nearest key.
std::map<std::string, std::string, std::less<>> key_values(std::string_view what, const std::string& text, std::span<const ValueKey> keys);

// UsageError "control: scale is 'x', expected a number".
double number_of(std::string_view what, std::string_view key, const std::string& value);

}  // namespace hearth::api
