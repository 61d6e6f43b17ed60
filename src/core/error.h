// fail<E>(…) throws one of the exceptions of hearth/error.h. Every message is one line of the form
//   `what: what is wrong, expected what is right`.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>

#include "hearth/error.h"

namespace hearth {

// The text with control characters escaped as \n, \t or \x1b: names come from files, and must neither break the line nor control a
// terminal.
std::string one_line(std::string text);

// throw E(formatted message), as one line.
template <class E, class... Args> [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw E(one_line(fmt::format(format, std::forward<Args>(args)...)));
}

}  // namespace hearth
