// Decodes the text between the quotes of a string literal.
#pragma once

#include <string>
#include <string_view>

namespace hearth::text::jinja {

// Python's escapes: \n \t \\ \' \" \a \b \f \r \v, \ooo, \xhh, \uhhhh, \Uhhhhhhhh, \N{name}, a backslash before a line end; any other
// backslash is kept. TemplateError (Failure::syntax) for an invalid escape or one that is half of a surrogate pair.
std::string unescape(std::string_view body);

}  // namespace hearth::text::jinja
