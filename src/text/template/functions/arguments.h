// A call's arguments against the parameters of a function that is written in C++.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "text/template/values/value.h"

namespace hearth::text::jinja {

// Arguments by position or name; Failure::type with Python's message for one that is missing, unknown, given twice or too many.
class Bound {
 public:
  // `required` of the parameters must be given. `function` is the name in messages.
  Bound(std::string_view function, const Arguments& arguments, std::initializer_list<std::string_view> parameters, size_t required);

  bool has(size_t i) const { return given_[i]; }
  const Value& operator[](size_t i) const { return values_[i]; }

  // Absent: the default.
  bool truth(size_t i, bool otherwise) const;
  int64_t integer(size_t i, int64_t otherwise) const;       // Failure::type for others than int and bool
  std::string text(size_t i, std::string otherwise) const;  // Failure::type for others than str
  bool is_none(size_t i) const { return !given_[i] || values_[i].is_none(); }

 private:
  std::vector<Value> values_;
  std::vector<bool> given_;
};

// A function of one value as a filter or test that takes no arguments.
template <auto function> auto alone(const Value& input, Arguments& arguments) {
  if (!arguments.positional.empty() || !arguments.named.empty())
    refuse(Failure::type, "it takes no arguments, got {}", arguments.positional.size() + arguments.named.size());
  return function(input);
}

}  // namespace hearth::text::jinja
