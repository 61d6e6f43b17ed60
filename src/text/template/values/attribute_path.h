// The parameter `attribute` of map, sort, sum …: "a.b.0", an index, or nothing.
#pragma once

#include <string_view>
#include <vector>

#include "text/template/values/value.h"

namespace hearth::text::jinja {

class AttributePath {
 public:
  AttributePath() = default;                                      // the element itself
  explicit AttributePath(const Value& path);                      // a text is cut at its dots; parts of digits are indices
  static std::vector<AttributePath> several(const Value& paths);  // "a,b.c"

  // Where a part is undefined and `otherwise` is given, that takes its place.
  Value of(const Value& item, const Value* otherwise = nullptr) const;

 private:
  std::vector<Value> parts_;
};

Value ignore_case(const Value& value);  // a text in lower case, anything else as it is

}  // namespace hearth::text::jinja
