// Patterns over tensor names.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hearth {

// True when the whole name fits the pattern, in which '*' stands for any characters, also none.
bool matches(std::string_view pattern, std::string_view name);
bool matches_any(std::span<const std::string> patterns, std::string_view name);

}  // namespace hearth
