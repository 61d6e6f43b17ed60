// Python's two ways of formatting text, and its formatting of numbers.
#pragma once

#include "text/template/values/value.h"

namespace hearth::text::jinja {

// text % arguments: %s %r %a %d %i %u %x %X %o %e %E %f %F %g %G %c %% with flags, width, precision and (name). A tuple holds several
// arguments, a dict named ones. Failure::type and Failure::value as in Python. Markup escapes its arguments.
Value format_percent(const Value& text, const Value& arguments);

// text.format(…): {} {0} {name} {0.attribute} {0[key]}, !r !s !a, and the format specification of str, int and float; nested fields in
// the specification. Attributes follow the rules of the sandbox.
Value format_braces(const Value& text, const Arguments& arguments);

// format(value, specification), the mini-language [[fill]align][sign][z][#][0][width][,_][.precision][type].
std::string format_value(const Value& value, std::string_view specification);

// A float formatted by %e, %f or %g (or their capitals), including "inf" and "nan". `alternate` is the flag #.
std::string format_real(double value, char type, int precision, bool alternate);

}  // namespace hearth::text::jinja
