// What stands between the quotes of a string literal.
#pragma once

#include <string>
#include <string_view>

namespace hearth::text::jinja {

// Python's escapes: \n \t \\ \' \" \a \b \f \r \v, \ooo, \xhh, \uhhhh, \Uhhhhhhhh, \N{name}, a backslash before a line end; any other
// backslash stays. TemplateError (Failure::syntax) for a broken escape or one that is half of a surrogate pair.
std::string unescape(std::string_view body);

}  // namespace hearth::text::jinja
