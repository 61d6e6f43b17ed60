// Patterns over tensor names.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hearth {

// Whether the pattern matches the whole name; '*' matches any characters, including none.
bool matches(std::string_view pattern, std::string_view name);
bool matches_any(std::span<const std::string> patterns, std::string_view name);

}  // namespace hearth
