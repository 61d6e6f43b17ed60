// The formats of strings that JSON schemas name.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "text/grammar/automaton.h"

namespace hearth::text::grammar::schema {

// The values of that format; null if it is not supported. What is accepted is valid by the RFCs, but not always all that is: years are 0001
// to 9999, seconds end at 59, fractions of seconds have at most 9 digits, and T and Z are capitals; a host has at most four labels; the
// local part of an email address is not quoted, and its domain has a dot.
const Automaton* format_texts(std::string_view name);
std::vector<std::string_view> format_names();

}  // namespace hearth::text::grammar::schema
