// Python's operators on values. What does not fit is Failure::type with Python's message; using an undefined value fails with that
// value's own message.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "text/template/values/value.h"

namespace hearth::text::jinja {

bool truth(const Value& value);
bool equal(const Value& a, const Value& b);
bool same(const Value& a, const Value& b);  // Python's `is`
size_t hash(const Value& value);            // equal values have equal hashes; Failure::type for lists and dicts

enum class Comparison { less, less_equal, greater, greater_equal };
bool compare(Comparison how, const Value& a, const Value& b);
bool contains(const Value& container, const Value& item);  // item in container

enum class Operator { add, subtract, multiply, divide, floor_divide, modulo };
Value arithmetic(Operator op, const Value& a, const Value& b);
Value negate(const Value& value);
[[noreturn]] void too_wide();  // Failure::overflow: hearth computes in 64 bits

int64_t length(const Value& value);  // len()
std::optional<int64_t> known_length(const Value& value);
Next iterate(const Value& value);  // iter()
bool is_iterable(const Value& value);
List to_list(const Value& value);

// object.name: Python's attribute (a method), else the element, else undefined.
Value attribute(const Value& object, std::string_view name);
// object[key]: the element, else the attribute, else undefined. A text's elements are its code points.
Value element(const Value& object, const Value& key);
// object[start:stop:step]: of a text, list, tuple or range; Failure::type for others.
Value part(const Value& object, const Value& slice);
Value call(const Value& callee, Arguments& arguments);

// HTML: & < > ' " as character references.
std::string escape_html(std::string_view text);
Value escape(const Value& value);  // as Markup; what is Markup stays

// The code points [start, stop) by Python's slice rules; step ≠ 0.
struct SliceRange {
  int64_t start, step, count;
};
SliceRange slice_range(const SliceObject& slice, int64_t size);

// The part of a text from code point `start` on, `count` long.
std::string_view characters(const Value& text, size_t start, size_t count);

// An index or count: int or bool; else Failure::type "'str' object cannot be interpreted as an integer".
int64_t as_index(const Value& value);

}  // namespace hearth::text::jinja
