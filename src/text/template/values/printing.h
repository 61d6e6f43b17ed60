// How Python prints values.
#pragma once

#include <string>
#include <string_view>

#include "text/template/values/value.h"

namespace hearth::text::jinja {

std::string str(const Value& value);   // what {{ value }} prints: undefined is empty, a text is itself
std::string repr(const Value& value);  // as inside a list: texts quoted and escaped, undefined is Undefined

std::string repr_text(std::string_view utf8);
// The shortest digits that read back as the same number: 0.1, 1.0, 1e+16, 1e-05, inf, nan.
std::string repr_real(double value);

}  // namespace hearth::text::jinja
