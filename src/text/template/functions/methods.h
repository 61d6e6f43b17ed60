// The methods of Python's str, list, tuple, dict, range, int and float, bound to a value.
#pragma once

#include <optional>
#include <string_view>

#include "text/template/values/value.h"

namespace hearth::text::jinja {

// The bound method, nothing where the type has none of that name. What the sandbox refuses (list.append, dict.update …, names that
// begin with "__") is an undefined value with Failure::security.
std::optional<Value> method(const Value& object, std::string_view name);

// Of one type each.
std::optional<Value> text_method(const Value& text, std::string_view name);
std::optional<Value> container_method(const Value& container, std::string_view name);

}  // namespace hearth::text::jinja
