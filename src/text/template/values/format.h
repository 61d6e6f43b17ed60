// The two ways in which Python formats text.
#pragma once

#include "text/template/values/value.h"

namespace hearth::text::jinja {

// text % arguments: %s %r %d %i %%. A tuple holds several arguments. Failure::type and Failure::value as Python's str % does; Unsupported
// for other conversions, flags, widths and names. Markup escapes what it takes in.
Value format_percent(const Value& text, const Value& arguments);

// text.format(…): {} {0} {name}, each with :d too, {{ and }}. Failure::value as Python does; Unsupported for attributes, elements,
// conversions and other specifications.
Value format_braces(const Value& text, const Arguments& arguments);

}  // namespace hearth::text::jinja
